package demo_test

import (
	"context"
	"fmt"

	"picogpt"
	"picogpt/weights/demo"
)

func Example() {
	ctx := context.Background()
	gpt, err := picogpt.OpenFS(ctx, demo.FS(), picogpt.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer gpt.Close()
	fmt.Println(gpt.Complete(ctx, "The dog was very", picogpt.Options{MaxTokens: 6}))
	// Output: happy and he was so happy <nil>
}
