// Command pack writes model.rows, which package demo embeds, from a model.safetensors that was
// trained anew, or files of the checkpoint as it is:
//
//	go run ./weights/demo/internal/pack FOLDER/model.safetensors weights/demo/model.rows
//	go run ./weights/demo/internal/pack -folder FOLDER
package main

import (
	"encoding/binary"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"picogpt/weights/demo"
)

func main() {
	folder := flag.String("folder", "", "write config.json and model.safetensors into this folder")
	flag.Parse()
	var err error
	switch {
	case *folder != "" && flag.NArg() == 0:
		err = write(*folder)
	case *folder == "" && flag.NArg() == 2:
		var whole []byte
		if whole, err = os.ReadFile(flag.Arg(0)); err == nil {
			err = os.WriteFile(flag.Arg(1), pack(whole), 0o666)
		}
	default:
		err = fmt.Errorf("want model.safetensors and model.rows, or -folder FOLDER")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

func write(folder string) error {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	for name, b := range map[string][]byte{
		"config.json": demo.Config(), "model.safetensors": demo.Weights(),
	} {
		if err := os.WriteFile(filepath.Join(folder, name), b, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// The embedding is the first tensor of the file.
const (
	rows     = 50257
	rowBytes = 128 * 2
)

// pack leaves out the rows of the embedding that are equal to the most frequent one; rows.go of
// package demo describes what it returns.
func pack(whole []byte) []byte {
	head := 8 + int(binary.LittleEndian.Uint64(whole))
	row := func(i int) []byte { return whole[head+i*rowBytes:][:rowBytes] }
	count, shared := map[string]int{}, ""
	for i := range rows {
		r := string(row(i))
		if count[r]++; count[r] > count[shared] {
			shared = r
		}
	}
	marks := make([]byte, (rows+7)/8)
	var stored []byte
	for i := range rows {
		if r := row(i); string(r) != shared {
			marks[i/8] |= 1 << (i % 8)
			stored = append(stored, r...)
		}
	}
	packed := append([]byte(nil), whole[:head]...)
	packed = append(append(append(packed, marks...), shared...), stored...)
	return append(packed, whole[head+rows*rowBytes:]...)
}
