package main

// The exported API: recorded by a release in api.txt, a line for each thing that a program can
// depend on, and compared with what there is.

import (
	"fmt"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

const (
	apiFile    = "x/release/api.txt"    // of the last release
	breaksFile = "x/release/breaks.txt" // what has changed since, and may break programs
)

// recordAPI writes the API of a version, from which nothing differs yet.
func recordAPI(root, version string) error {
	now, err := exportedAPI(root)
	if err != nil {
		return err
	}
	text := "# The exported API of " + version + ", written by make release.\n" + strings.Join(now, "\n")
	err = os.WriteFile(filepath.Join(root, apiFile), []byte(text+"\n"), 0o666)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, breaksFile), nil, 0o666)
}

// compareAPI wants the breaks that breaks.txt lists, and prints what is new.
func compareAPI(root string) error {
	now, err := exportedAPI(root)
	if err != nil {
		return err
	}
	recorded, err := os.ReadFile(filepath.Join(root, apiFile))
	if err != nil {
		return err
	}
	listed, err := os.ReadFile(filepath.Join(root, breaksFile))
	if err != nil {
		return err
	}
	breaks, added := difference(apiLines(recorded), now)
	for _, line := range added {
		fmt.Println("new:", line)
	}
	wrong := 0
	for _, line := range breaks {
		if !slices.Contains(apiLines(listed), line) {
			wrong++
			fmt.Println("break, not listed:", line)
		}
	}
	for _, line := range apiLines(listed) {
		if !slices.Contains(breaks, line) {
			wrong++
			fmt.Println("listed, and no break:", line)
		}
	}
	if wrong > 0 {
		return fmt.Errorf("%s: want in it each line that breaks a program, and no other", breaksFile)
	}
	return nil
}

func apiLines(b []byte) []string {
	return slices.DeleteFunc(strings.Split(string(b), "\n"), func(line string) bool {
		return line == "" || strings.HasPrefix(line, "#")
	})
}

// difference says what is gone, and what is new. Another signature or type is gone and new. A method
// that an interface has got is a break too, where others may implement it.
func difference(old, now []string) (breaks, added []string) {
	for _, line := range old {
		if !slices.Contains(now, line) {
			breaks = append(breaks, "- "+line)
		}
	}
	for _, line := range now {
		if slices.Contains(old, line) {
			continue
		}
		of, _, isMethod := strings.Cut(line, " wants ")
		if isMethod && slices.ContainsFunc(old, func(l string) bool { return strings.HasPrefix(l, of+" ") }) {
			breaks = append(breaks, "+ "+line)
		}
		added = append(added, line)
	}
	return breaks, added
}

// libraries are the modules that others import.
var libraries = []string{".", "x/attention"}

// exportedAPI lists what other modules can use of these, whose paths begin with picogpt there,
// whatever they are.
func exportedAPI(root string) (lines []string, err error) {
	var all []*packages.Package
	for _, module := range libraries {
		of, err := packages.Load(&packages.Config{
			Mode: packages.NeedName | packages.NeedTypes | packages.NeedImports | packages.NeedModule,
			Dir:  filepath.Join(root, module),
			Env:  append(os.Environ(), "GOWORK=off", "GOOS=linux", "GOARCH=amd64"),
		}, "./...")
		if err != nil {
			return nil, err
		}
		all = append(all, of...)
	}
	path := all[0].Module.Path // of the first module, with which those of the others begin
	for _, p := range all {
		if len(p.Errors) > 0 {
			return nil, p.Errors[0]
		}
		name := strings.TrimPrefix(p.PkgPath, path)
		if p.Name == "main" || strings.Contains(name, "/internal") || strings.HasPrefix(name, "/dev/") {
			continue
		}
		short := func(q *types.Package) string {
			if rest, ours := strings.CutPrefix(q.Path()+"/", path+"/"); ours {
				return strings.TrimSuffix("picogpt/"+rest, "/")
			}
			return q.Path()
		}
		scope := p.Types.Scope()
		for _, id := range scope.Names() {
			if o := scope.Lookup(id); o.Exported() {
				for _, line := range describe(o, short) {
					lines = append(lines, "picogpt"+name+": "+line)
				}
			}
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines), nil
}

// describe lists an exported object: a constant with its value, a type with its exported fields and
// methods.
func describe(o types.Object, short types.Qualifier) (lines []string) {
	switch o := o.(type) {
	case *types.Const:
		return []string{fmt.Sprintf("const %s %s = %s", o.Name(), types.TypeString(o.Type(), short), o.Val())}
	case *types.Var:
		return []string{fmt.Sprintf("var %s %s", o.Name(), types.TypeString(o.Type(), short))}
	case *types.Func:
		return []string{"func " + o.Name() + signature(o, short)}
	}
	t := o.(*types.TypeName)
	head := "type " + t.Name()
	if t.IsAlias() {
		return []string{head + " = " + types.TypeString(types.Unalias(t.Type()), short)}
	}
	if of, ok := t.Type().(*types.Named); ok && of.TypeParams().Len() > 0 {
		head += types.TypeString(of.TypeParams().At(0).Constraint(), short)
	}
	switch u := t.Type().Underlying().(type) {
	case *types.Struct:
		lines = append(lines, head+" struct")
		for f := range u.Fields() {
			if f.Exported() {
				lines = append(lines, fmt.Sprintf("%s has %s %s", head, f.Name(),
					types.TypeString(f.Type(), short)))
			}
		}
	case *types.Interface:
		lines = append(lines, head+" interface")
		for m := range u.Methods() {
			lines = append(lines, head+" wants "+m.Name()+signature(m, short))
		}
		return lines
	default:
		lines = append(lines, head+" "+types.TypeString(u, short))
	}
	for method := range types.NewMethodSet(types.NewPointer(t.Type())).Methods() {
		if m := method.Obj(); m.Exported() {
			on := "*"
			if types.NewMethodSet(t.Type()).Lookup(m.Pkg(), m.Name()) != nil {
				on = ""
			}
			lines = append(lines, fmt.Sprintf("method %s%s %s%s", on, t.Name(), m.Name(),
				signature(m.(*types.Func), short)))
		}
	}
	return lines
}

// signature is a function's type without the names of its parameters, which break nothing.
func signature(f *types.Func, short types.Qualifier) string {
	s := f.Signature()
	bare := func(tuple *types.Tuple) *types.Tuple {
		var all []*types.Var
		for v := range tuple.Variables() {
			all = append(all, types.NewParam(0, nil, "", v.Type()))
		}
		return types.NewTuple(all...)
	}
	params := slices.Collect(s.TypeParams().TypeParams())
	for i, p := range params { // a type parameter has one signature
		params[i] = types.NewTypeParam(types.NewTypeName(0, nil, p.Obj().Name(), nil), p.Constraint())
	}
	text := types.TypeString(types.NewSignatureType(nil, nil, params, bare(s.Params()), bare(s.Results()),
		s.Variadic()), short)
	return strings.TrimPrefix(text, "func")
}
