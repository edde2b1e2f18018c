package hub_test

import (
	"context"
	"fmt"
	"log"

	"picogpt"
	"picogpt/checkpoint/hub"
)

// Pull downloads what is missing of OpenAI's smallest GPT-2, which any later run finds in the
// cache.
func Example() {
	ctx := context.Background()
	o, err := hub.Environment()
	if err != nil {
		log.Fatal(err)
	}
	name := hub.Name{Repo: "openai-community/gpt2"}
	snapshot, err := hub.Pull(ctx, name, o)
	if err != nil {
		log.Fatal(err)
	}
	gpt, err := picogpt.Open(ctx, snapshot.Dir, picogpt.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer gpt.Close()
	how := picogpt.Sampling()
	how.MaxTokens, how.Seed = 40, 1
	text, err := gpt.Complete(ctx, "In a shocking finding,", how)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(text)
}

// A name is that of a repository. A revision may follow: a branch, a tag or a commit.
func ExampleParseName() {
	name, err := hub.ParseName("openai-community/gpt2@main")
	fmt.Println(name.Repo, name.Revision, err)
	// Output: openai-community/gpt2 main <nil>
}

// Find looks into the cache and asks nobody.
func ExampleFind() {
	o := hub.Options{Cache: "/data/huggingface/hub"}
	snapshot, err := hub.Find(hub.Name{Repo: "gpt2"}, o)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(snapshot.Dir)
	// Output: gpt2: not in the Hugging Face cache
}
