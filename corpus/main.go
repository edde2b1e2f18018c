package main

import (
	_ "github.com/alecthomas/kong"
	_ "github.com/apache/beam/sdks/v2/go/container/tools"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/gcs"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/local"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/memfs"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/s3"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx"
	_ "github.com/klauspost/compress/zstd"
	_ "github.com/lanrat/extsort"
	_ "github.com/parquet-go/parquet-go"
	_ "github.com/rogpeppe/go-internal/testscript"
	_ "golang.org/x/term"

	_ "picogpt/checkpoint"
	_ "picogpt/decode"
	_ "picogpt/eval"
	_ "picogpt/internal/rows"
	_ "picogpt/weights/demo"
)

func main() {}
