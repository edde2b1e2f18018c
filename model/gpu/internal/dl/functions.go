package dl

import (
	"reflect"
	"strings"
)

// A Function is one of a library. Its name is used in errors.
type Function struct {
	Name    string
	Address uintptr
}

// Find sets the fields of a struct, which are Functions. Each has the name of its function without
// the library's prefix, and as a tag the version with which the library ends that name, if any. If
// a function is missing, Find returns its name and the error of address.
func Find(
	functions any, prefix string, address func(symbol string) (uintptr, error),
) (missing string, err error) {
	v := reflect.ValueOf(functions).Elem()
	for i := range v.NumField() {
		field, f := v.Type().Field(i), (*Function)(v.Field(i).Addr().UnsafePointer())
		f.Name = prefix + strings.ToUpper(field.Name[:1]) + field.Name[1:]
		symbol := f.Name + field.Tag.Get("version")
		if f.Address, err = address(symbol); err != nil {
			return symbol, err
		}
	}
	return "", nil
}
