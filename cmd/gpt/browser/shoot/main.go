// Command shoot draws a page as PNG to stdout, as make pictures wants it:
//
//	shoot [-do JS] [-click JS] WIDTH HEIGHT URL
//
// An expression of -do is awaited; one of -click is an element or a range, whose middle is clicked.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/chromedp/chromedp"
)

func main() {
	do := flag.String("do", "0", "")
	click := flag.String("click", "document.body", "")
	flag.Parse()
	png, err := shoot(*do, *click, flag.Args())
	if err == nil {
		_, err = os.Stdout.Write(png)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "shoot:", err)
		os.Exit(1)
	}
}

func shoot(do, click string, args []string) ([]byte, error) {
	var width, height int64
	var url string
	if _, err := fmt.Sscan(strings.Join(args, " "), &width, &height, &url); err != nil {
		return nil, fmt.Errorf("want WIDTH HEIGHT URL: %w", err)
	}
	ctx, end := chromedp.NewContext(context.Background(),
		chromedp.WithAllocatorOptions(chromedp.NoSandbox))
	defer end()
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(width, height), chromedp.Navigate(url),
		chromedp.Evaluate[chromedp.Void](do, chromedp.EvalAwaitPromise)); err != nil {
		return nil, err
	}
	at, err := chromedp.Run(ctx, chromedp.Evaluate[[]float64]("(r => [r.left + r.width / 2, "+
		"r.top + r.height / 2])(("+click+").getClientRects()[0])"))
	if err != nil {
		return nil, err
	}
	if err := chromedp.Do(ctx, chromedp.MouseClickXY(at[0], at[1])); err != nil {
		return nil, err
	}
	return chromedp.Run(ctx, chromedp.CaptureScreenshot())
}
