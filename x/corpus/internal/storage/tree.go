package storage

// All files of a store whose names begin with a prefix, in any folders.

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// Tree returns the files of gs:// or s3:// whose names begin with a prefix, which has no wildcards.
func Tree(ctx context.Context, prefix string) ([]string, error) {
	kind, rest, _ := strings.Cut(prefix, "://")
	bucket, key, found := strings.Cut(rest, "/")
	switch {
	case !found:
		return nil, errors.New("a wildcard in the name of a bucket")
	case kind == "gs":
		address := url.URL{Scheme: kind, Host: bucket, Path: "/" + key + "**"}
		system, err := System(ctx, prefix)
		if err != nil {
			return nil, err
		}
		defer system.Close()
		return system.List(ctx, address.String()) // Beam's ** matches any text
	case kind == "s3":
		return treeS3(ctx, bucket, key)
	}
	return nil, fmt.Errorf("** in names of %s://, want local ones, gs:// or s3://", kind)
}

// treeS3 is Tree for a bucket of S3, where Beam lists only single folders.
func treeS3(ctx context.Context, bucket, prefix string) (names []string, _ error) {
	c, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, err
	}
	pages := s3.NewListObjectsV2Paginator(s3.NewFromConfig(c),
		&s3.ListObjectsV2Input{Bucket: aws.String(bucket), Prefix: aws.String(prefix)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, object := range page.Contents {
			names = append(names, "s3://"+bucket+"/"+aws.ToString(object.Key))
		}
	}
	return names, nil
}
