package option

// Tables of the library's structs. They are found here and not by methods, so that no signature of a
// public package has a type that only programs of this module can name.

import "reflect"

// tables has a func(*T) []Option for each T that is registered.
var tables = map[reflect.Type]any{}

// Register says how the options of a type of structs are listed. Packages call it when they are
// initialized.
func Register[T any](table func(*T) []Option) { tables[reflect.TypeFor[T]()] = table }

// Of returns the options of a struct whose type is registered, bound to its fields: those of
// sample.Params, decode.Options and search.BeamOptions.
func Of[T any](options *T) []Option {
	return tables[reflect.TypeFor[T]()].(func(*T) []Option)(options)
}
