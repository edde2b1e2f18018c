package picogpt_test

// What a public package exports can be named and read outside of the module.

import (
	"encoding/json"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"picogpt/dev/cases"
)

// opaque are the only places of types that nobody outside can name, with the reason.
var opaque = map[string]string{
	"model.Options.Device": "takes what gpu/drivers returns; what a device does is between packages " +
		"of this module",
	"model/gpu.Device.Open": "is a method of that interface, which package model calls",
}

// A listed is a package as go list shows it.
type listed struct {
	ImportPath, Export, Name string
	Standard                 bool
}

// TestSignaturesHaveNoTypeThatNobodyCanRead walks the exported functions, variables, constants,
// fields and methods of each public package, and the types that they are made of. An alias of a type
// in an internal package is such a type too: its documentation has no fields.
func TestSignaturesHaveNoTypeThatNobodyCanRead(t *testing.T) {
	cases.NotShort(t)
	all, err := packages()
	if err != nil {
		t.Fatal(err)
	}
	module := modulePath(t)
	imports := importer.ForCompiler(token.NewFileSet(), "gc", func(p string) (io.ReadCloser, error) {
		i := slices.IndexFunc(all, func(l listed) bool { return l.ImportPath == p })
		return os.Open(all[i].Export)
	})
	met, walked := map[string]bool{}, 0
	for _, p := range all {
		if p.Standard || p.Name == "main" || p.Export == "" || internal(p.ImportPath) ||
			p.ImportPath != module && !strings.HasPrefix(p.ImportPath, module+"/") {
			continue
		}
		checked, err := imports.Import(p.ImportPath)
		if err != nil {
			t.Fatal(err)
		}
		w := &signatures{module: module, found: func(where, what string) {
			where = strings.TrimPrefix(where, module+"/")
			if met[where] = true; opaque[where] == "" {
				t.Errorf("%s: has %s", where, what)
			}
		}}
		for _, name := range checked.Scope().Names() {
			if o := checked.Scope().Lookup(name); o.Exported() {
				w.object(p.ImportPath+"."+name, o)
				walked++
			}
		}
	}
	for where := range opaque {
		if !met[where] {
			t.Errorf("%s: has no such type any more, and needs no exception", where)
		}
	}
	if walked < 600 {
		t.Errorf("%d exported names, want more", walked)
	}
}

// TestTheWalkFindsWhatItLooksFor, in sources with one of each.
func TestTheWalkFindsWhatItLooksFor(t *testing.T) {
	hidden := types.NewPackage("m/internal/hidden", "hidden")
	secret := types.NewNamed(types.NewTypeName(0, hidden, "Secret", nil), types.NewStruct(nil, nil), nil)
	public := types.NewPackage("m/public", "public")
	unnamed := types.NewNamed(types.NewTypeName(0, public, "unnamed", nil), types.NewStruct(nil, nil), nil)
	field := func(name string, t types.Type) types.Type {
		return types.NewStruct([]*types.Var{types.NewField(0, public, name, t, false)}, nil)
	}
	takes := func(t types.Type) types.Type {
		return types.NewSignatureType(nil, nil, nil, types.NewTuple(types.NewParam(0, public, "", t)), nil,
			false)
	}
	aliased := types.NewTypeName(0, public, "Aliased", nil)
	types.NewAlias(aliased, secret)
	readable := types.NewNamed(types.NewTypeName(0, public, "Readable", nil), field("hidden", secret), nil)
	method := types.NewNamed(types.NewTypeName(0, public, "Method", nil), types.Typ[types.Int], nil)
	method.AddMethod(types.NewFunc(0, public, "Do", takes(types.NewSlice(secret)).(*types.Signature)))
	inner := types.NewNamed(types.NewTypeName(0, public, "inner", nil), field("F", secret), nil)
	outer := types.NewNamed(types.NewTypeName(0, public, "Outer", nil), types.NewStruct(
		[]*types.Var{types.NewField(0, public, "inner", types.NewPointer(inner), true)}, nil), nil)
	generic := types.NewNamed(types.NewTypeName(0, public, "Generic", nil), types.Typ[types.Int], nil)
	generic.SetTypeParams([]*types.TypeParam{types.NewTypeParam(types.NewTypeName(0, public, "T", nil),
		types.NewInterfaceType(nil, []types.Type{secret}))})
	for name, c := range map[string]struct {
		object types.Object
		want   bool
	}{
		"alias":            {aliased, true},
		"field":            {types.NewVar(0, public, "V", field("F", types.NewPointer(secret))), true},
		"function":         {types.NewVar(0, public, "V", takes(types.NewMap(types.Typ[0], secret))), true},
		"method":           {method.Obj(), true},
		"channel":          {types.NewVar(0, public, "V", types.NewChan(types.RecvOnly, secret)), true},
		"embedded":         {outer.Obj(), true},
		"constraint":       {generic.Obj(), true},
		"unexported type":  {types.NewVar(0, public, "V", takes(unnamed)), true},
		"unexported field": {readable.Obj(), false},
		"public type":      {types.NewVar(0, public, "V", takes(readable)), false},
	} {
		found := false
		w := &signatures{module: "m", found: func(string, string) { found = true }}
		if w.object("m/public."+name, c.object); found != c.want {
			t.Errorf("%s: found %v, want %v", name, found, c.want)
		}
	}
}

// packages returns those of the module and all that they import, with files of their types.
func packages() (all []listed, err error) {
	c := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Export,Standard,Name", "./...")
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		return nil, err
	}
	for d := json.NewDecoder(out); ; {
		var p listed
		if err := d.Decode(&p); err == io.EOF {
			return all, c.Wait()
		} else if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
}

// internal reports whether a path is one that other modules cannot import.
func internal(path string) bool { return slices.Contains(strings.Split(path, "/"), "internal") }

// signatures walks the types that an exported name shows.
type signatures struct {
	module string
	found  func(where, what string)
}

func (w *signatures) object(where string, o types.Object) {
	switch t := o.Type().(type) {
	case *types.Alias:
		if _, is := o.(*types.TypeName); is {
			w.walk(where, t.Rhs())
			return
		}
	case *types.Named:
		if _, is := o.(*types.TypeName); is {
			w.constraints(where, t.TypeParams())
			w.members(where, t)
			return
		}
	}
	w.walk(where, o.Type())
}

// members walks what a type is made of, and its methods.
func (w *signatures) members(where string, t *types.Named) {
	w.walk(where, t.Underlying())
	for m := range t.Methods() {
		w.member(where, m)
	}
}

// member walks a field or a method, if it is exported. A struct has what is exported of an embedded
// type, whatever that one's name is.
func (w *signatures) member(of string, o types.Object) {
	if o.Exported() {
		w.walk(of+"."+o.Name(), o.Type())
	} else if f, is := o.(*types.Var); is && f.Embedded() {
		t := types.Unalias(f.Type())
		if p, is := t.(*types.Pointer); is {
			t = types.Unalias(p.Elem())
		}
		if t, is := t.(*types.Named); is {
			w.members(of, t)
		}
	}
}

func (w *signatures) constraints(where string, all *types.TypeParamList) {
	for p := range all.TypeParams() {
		w.walk(where, p.Constraint())
	}
}

// named tells of a type that nobody outside can name, or whose documentation nobody sees.
func (w *signatures) named(where string, t interface {
	Obj() *types.TypeName
	TypeArgs() *types.TypeList
},
) {
	o := t.Obj()
	if p := o.Pkg(); p != nil && (p.Path() == w.module || strings.HasPrefix(p.Path(), w.module+"/")) &&
		(internal(p.Path()) || !o.Exported()) {
		w.found(where, p.Path()+"."+o.Name())
	}
	for a := range t.TypeArgs().Types() {
		w.walk(where, a)
	}
}

func (w *signatures) walk(where string, t types.Type) {
	switch t := t.(type) {
	case *types.Alias:
		w.named(where, t)
	case *types.Named:
		w.named(where, t)
	case *types.Map:
		w.walk(where, t.Key())
		w.walk(where, t.Elem())
	case interface{ Elem() types.Type }: // pointers, slices, arrays, channels
		w.walk(where, t.Elem())
	case *types.Signature:
		w.constraints(where, t.TypeParams())
		for _, tuple := range []*types.Tuple{t.Params(), t.Results()} {
			for v := range tuple.Variables() {
				w.walk(where, v.Type())
			}
		}
	case *types.Struct:
		for f := range t.Fields() {
			w.member(where, f)
		}
	case *types.Interface:
		for m := range t.Methods() {
			w.member(where, m)
		}
		for e := range t.EmbeddedTypes() {
			w.walk(where, e)
		}
	case *types.Union:
		for term := range t.Terms() {
			w.walk(where, term.Type())
		}
	}
}
