package main

// A small curl, so that what documents say of the server is tested on machines without one.

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

// curl is the program: curl [-s] [-S] [-N] [-i] [-H HEADER] [-d DATA] URL.
func curl() {
	if err := request(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "curl:", err)
		os.Exit(1)
	}
}

// request makes the request, as curl does, and prints the answer.
func request(args []string) error {
	method, url, body, head := "GET", "", "", false
	header := http.Header{}
	for ; len(args) > 0; args = args[1:] {
		switch arg := args[0]; {
		case arg == "-d" && len(args) > 1:
			method, body, args = "POST", args[1], args[1:]
			header.Set("Content-Type", "application/x-www-form-urlencoded")
		case arg == "-H" && len(args) > 1:
			name, value, _ := strings.Cut(args[1], ":")
			header.Set(name, strings.TrimSpace(value))
			args = args[1:]
		case arg == "-i":
			head = true
		case arg == "-s", arg == "-S", arg == "-sS", arg == "-N":
		case strings.HasPrefix(arg, "-"):
			return fmt.Errorf("the tests' own does not know %s", arg)
		default:
			url = "http://" + strings.TrimPrefix(arg, "http://")
		}
	}
	r, err := http.NewRequestWithContext(context.Background(), method, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header = header
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if head {
		fmt.Printf("%s %s\n", answer.Proto, answer.Status)
		var lines strings.Builder
		answer.Header.Write(&lines)
		fmt.Println(strings.ReplaceAll(lines.String(), "\r", ""))
	}
	_, err = io.Copy(os.Stdout, answer.Body)
	return err
}
