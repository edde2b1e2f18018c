// What a pickle may name and what it may call: names of data alone. A name is judged where it is
// read and a call where it is made, so that it does not matter what becomes of the value.

package torch

import (
	"maps"
	"slices"
	"strings"
	"unicode"
)

// mayName reports whether a pickle may name a class or a function: of Python's own library what
// makes data or does nothing unless it is called, of other programs all but what their modules have
// imported (os.system of torch.hub).
func mayName(c *Class) bool {
	if isPythons(c.Module) {
		return makesData(c) || isJudged(c) || isNamed(c)
	}
	outer, _, dotted := strings.Cut(c.Name, ".")
	return !dotted || isCapital(outer) || c.Module == "torch._utils" && slices.Contains([]string{
		"torch.contiguous_format", "torch.preserve_format", "torch.channels_last",
		"torch.channels_last_3d"}, c.Name)
}

// A listing is names of modules, with spaces between them, as modules are.
type listing struct{ modules, names string }

// has reports whether a list has a class. In names * stands for any characters but dots.
func has(list []listing, c *Class) bool {
	return slices.ContainsFunc(list, func(l listing) bool {
		return isOne(l.modules, c.Module) && isOne(l.names, c.Name)
	})
}

// isOne reports whether a name is one of the words.
func isOne(words, name string) bool {
	for word := range strings.FieldsSeq(words) {
		begin, end, open := strings.Cut(word, "*")
		if word == name || open && !strings.Contains(name, ".") && strings.HasPrefix(name, begin) &&
			strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}

const builtins = "builtins __builtin__"

// named are what Python's own library has that trainings keep for later, such as a metric's max.
var named = [...]listing{
	{builtins, "abs all any callable divmod format hash id isinstance issubclass iter len max " +
		"min next pow print repr round sorted sum"},
	{"operator _operator", "add sub mul truediv floordiv mod pow neg matmul and_ or_ xor not_ lt " +
		"le eq ne ge gt is_ is_not contains"},
	{"time", "time perf_counter monotonic"},
	{"inspect", "_empty Parameter Signature _ParameterKind"},
}

// isNamed reports whether Python's own library has a function or a class of this name that trainings
// keep for later; one of a class may be the type of an argument.
func isNamed(c *Class) bool {
	return has(named[:], c) || isCapital(c.Name) && !strings.Contains(c.Name, ".") &&
		isOne("typing abc collections.abc _abcoll dataclasses enum numbers", c.Module)
}

// mayCall reports whether a call makes data. Of programs that are not known here, calls are those
// of enums, of outputs of models and of own kinds of dicts and lists: classes, with data that are no
// program's text. left is the number of values that it may look at, because a pickle can name the
// same list in many calls.
func mayCall(c *Class, args Tuple, left *int) bool {
	words := func(all []any, depth int) bool { return areWords(c, all, depth, left) }
	if !isJudged(c) {
		return makesData(c) && !iterates(c, args) || isCapital(c.Name) && words(args, 3)
	}
	var classes [2]*Class // among the arguments
	for i := range min(len(args), len(classes)) {
		classes[i], _ = args[i].(*Class)
	}
	switch c.Name {
	case "getattr": // a member of an enum, or a method, which nothing can call
		if len(args) != 2 || classes[0] != nil && !isCapital(classes[0].Name) && !makesData(classes[0]) {
			return false
		}
		name, _ := args[1].(string)
		return name != "" && !strings.HasPrefix(name, "__") && words(args[1:], 0)
	case "type": // of None
		return len(args) == 1 && args[0] == nil
	case "getitem": // Optional[int]
		return classes[0] != nil && classes[0].Module == "typing"
	case "reduce": // int | None
		return len(args) == 2 && classes[0] != nil && isPythons(classes[0].Module) &&
			classes[0].Name == "or_" && words(args[1:], 1)
	}
	return classes[1] != nil && isPythons(classes[1].Module) && makesData(classes[1])
}

// mayMake reports whether NEWOBJ makes data: Python calls the __new__ of a class alone, which makes
// files where it is numpy.memmap's.
func mayMake(c *Class, args Tuple) bool {
	return isCapital(c.Name) || makesData(c) ||
		!isPythons(c.Module) && (len(args) == 0 || !isLibrarys(c))
}

// iterates reports whether a call walks an object of a class that is not known, whose methods could
// call what its state holds.
func iterates(c *Class, args Tuple) bool {
	if !isOne(builtins+" collections", c.Module) {
		return false
	}
	if c.Name == "defaultdict" && len(args) > 0 { // what makes its values is not called
		args = args[1:]
	}
	return slices.ContainsFunc(args, func(v any) bool {
		o, ok := v.(*Object)
		return ok && !makesData(o.Class)
	})
}

// judged are the functions of Python's that make data with some arguments only.
var judged = [...]listing{
	{builtins, "getattr type reduce"}, {"functools _functools", "reduce"},
	{"operator _operator", "getitem"}, {"copyreg copy_reg", "_reconstructor"},
}

func isJudged(c *Class) bool { return has(judged[:], c) }

// makers are what makes data whatever its arguments are.
var makers = [...]listing{
	{builtins, "set frozenset bytes bytearray complex int long float str unicode bool list dict " +
		"tuple object range xrange slice Ellipsis NotImplemented"},
	{"collections", "OrderedDict defaultdict Counter deque ChainMap UserDict UserList UserString"},
	{"datetime", "date datetime time timedelta timezone"},
	{"pathlib pathlib._local", "*Path"}, {"_io io", "BytesIO StringIO"}, {"argparse", "Namespace"},
	{"types", "SimpleNamespace GenericAlias NoneType"},
	{"decimal fractions uuid random zoneinfo", "Decimal Fraction UUID SafeUUID Random"},
	{"ipaddress http signal", "IPv4Address IPv6Address IPv4Network IPv6Network HTTPStatus Signals"},
	{"itertools time", "count repeat struct_time"}, {"math", "*"}, {"functools", "partial"},
	{"operator _operator", "itemgetter"}, {"logging", "Logger getLogger"},
	{"re", "_compile RegexFlag"}, {"_regex", "compile"}, {"_codecs", "encode"},
	{"array", "array _array_reconstructor"}, {"torch", "device"}, {"torch._C", "Generator"},
	{"torch._utils torch.nested._internal.nested_tensor", "_rebuild_*"},
	{"torch.serialization", "_get_layout"},
	{"torch.return_types dateutil.tz.tz pytz frozendict", "*"}, {"numpy", "dtype"},
	{"numpy.random._pickle", "*_ctor"},
}

// makesData reports whether a call makes data whatever its arguments are.
func makesData(c *Class) bool {
	const unpickles = " __pyx_unpickle_* _unpickle_* _new_*"
	return isException(c) || has(makers[:], c) ||
		strings.HasPrefix(c.Module, "numpy.") && c.Module != "numpy.random._pickle" &&
			isOne("_reconstruct _frombuffer _mareconstruct scalar"+unpickles, c.Name) ||
		strings.HasPrefix(c.Module, "pandas.") &&
			isOne("_timedelta_unpickle _nat_unpickle BlockManager"+unpickles, c.Name)
}

// isCapital reports whether a name is written as a class's, such as Mode, a.Mode or _Mode.
func isCapital(name string) bool {
	name = strings.TrimLeft(name[strings.LastIndexByte(name, '.')+1:], "_")
	return name != "" && unicode.IsUpper(rune(name[0]))
}

// isException reports whether a class is one of exceptions, whose arguments are what they say.
func isException(c *Class) bool {
	if strings.Contains(c.Name, ".") {
		return false
	}
	return strings.HasSuffix(c.Name, "Error") || strings.HasSuffix(c.Name, "Warning") ||
		c.Module == "exceptions" || (c.Module == "builtins" || c.Module == "__builtin__") &&
		isCapital(c.Name)
}

// isLibrarys reports whether a class is of a library whose classes with texts are no enums.
func isLibrarys(c *Class) bool {
	top, _, _ := strings.Cut(c.Module, ".")
	return top == "torch" || top == "numpy"
}

// areWords reports whether the arguments of a class are numbers, words, names, data, and lists of
// these that are so deep at most: no program, and no command or path for a class that takes these.
func areWords(c *Class, all []any, depth int, left *int) bool {
	*left -= len(all)
	return depth >= 0 && *left >= 0 && !slices.ContainsFunc(all, func(v any) bool {
		switch v := v.(type) {
		case nil, bool, int64, float64, *Class:
			return false
		case string:
			return len(v) > 64 || takesCommands(c) || strings.ContainsAny(v, "()[]{}$;`\"\\") ||
				strings.ContainsFunc(v, unicode.IsControl)
		case Tuple:
			return !areWords(c, v, depth-1, left)
		case *List:
			return !areWords(c, v.Items, depth-1, left)
		case *Dict:
			return !areWords(c, slices.Collect(maps.Values(v.values)), depth-1, left)
		case *Object:
			return !makesData(v.Class) && !isJudged(v.Class)
		case Func:
			return true
		}
		_, known := v.(interface{ Kind() string }) // the caller's, such as tensors
		return !known
	})
}

// takesCommands reports whether a class may do what a text says.
func takesCommands(c *Class) bool {
	last := c.Name[strings.LastIndexByte(c.Name, '.')+1:]
	return isLibrarys(c) || isOne("*Popen *PopenSpawn *Process *Command *Shell *Console *Writer "+
		"*File *Store *Connection *Template", last)
}

// pythons are the modules of Python's own library, of all versions.
const pythons = " " +
	"BaseHTTPServer Bastion CGIHTTPServer ConfigParser Cookie DocXMLRPCServer FileDialog " +
	"HTMLParser Queue ScrolledText SimpleDialog SimpleHTTPServer SimpleXMLRPCServer " +
	"SocketServer StringIO Tix Tkconstants Tkdnd Tkinter abc aifc annotationlib antigravity " +
	"anydbm argparse array ast asynchat asyncio asyncore atexit audioop base64 bdb binascii " +
	"binhex bisect builtins bz2 cPickle cProfile cStringIO calendar cgi cgitb chunk cmath " +
	"cmd code codecs codeop collections colorsys commands compileall compression concurrent " +
	"configparser contextlib contextvars cookielib copy copy_reg copyreg crypt csv ctypes " +
	"curses dataclasses datetime dbhash dbm decimal difflib dis distutils doctest dumbdbm " +
	"dummy_thread dummy_threading email encodings ensurepip enum errno faulthandler fcntl " +
	"filecmp fileinput fnmatch formatter fractions ftplib functools gc gdbm genericpath " +
	"getopt getpass gettext glob graphlib grp gzip hashlib heapq hmac html htmlentitydefs " +
	"http httplib idlelib ihooks imaplib imghdr imp importlib imputil inspect io ipaddress " +
	"itertools json keyword lib2to3 linecache locale logging lzma macpath mailbox mailcap " +
	"markupbase marshal math mimetypes mmap modulefinder msilib msvcrt multiprocessing netrc " +
	"nis nntplib nt ntpath nturl2path numbers opcode operator optparse os os2 ossaudiodev " +
	"parser pathlib pdb pickle pickletools pipes pkgutil platform plistlib popen2 poplib " +
	"posix posixpath pprint profile pstats pty pwd py_compile pyclbr pydoc pydoc_data " +
	"pyexpat queue quopri random re readline reprlib resource rexec rlcompleter robotparser " +
	"runpy sched secrets select selectors shelve shlex shutil signal site smtpd smtplib " +
	"sndhdr socket socketserver spwd sqlite3 sre_compile sre_constants sre_parse ssl stat " +
	"statistics string stringprep struct subprocess sunau symbol symtable sys sysconfig " +
	"syslog tabnanny tarfile telnetlib tempfile termios textwrap this thread threading time " +
	"timeit tkColorChooser tkCommonDialog tkFileDialog tkFont tkMessageBox tkSimpleDialog " +
	"tkinter token tokenize tomllib trace traceback tracemalloc ttk tty turtle turtledemo " +
	"types typing unicodedata unittest urllib urllib2 urlparse uu uuid venv warnings wave " +
	"weakref webbrowser whichdb winreg winsound wsgiref xdrlib xml xmlrpc xmlrpclib zipapp " +
	"zipfile zipimport zlib zoneinfo "

// isPythons reports whether a module is of Python's own library: its name is one of these, or begins
// with an underscore and is no program's.
func isPythons(module string) bool {
	top, _, _ := strings.Cut(module, ".")
	return strings.Contains(pythons, " "+top+" ") ||
		strings.HasPrefix(top, "_") && top != "__main__" && top != "__mp_main__"
}
