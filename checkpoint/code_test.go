package checkpoint_test

// Code in pickles: refused wherever it stands, also where nothing asks for the value. Beside it
// stands what trainings save that is no code. Each was also given to torch.load(weights_only=True),
// which refuses all that is refused here.

import (
	"archive/zip"
	"bytes"
	"io"
	"strings"
	"testing"

	"picogpt/checkpoint"
	"picogpt/dev/cases"
	"picogpt/internal/folder"
)

const (
	x    = "X\x01\x00\x00\x00x"                      // a key
	call = "cos\nsystem\nX\x04\x00\x00\x00true\x85R" // os.system("true")
)

// TestCodeIsRefused has pairs of a key and a value for the dict of nanoGPT's file.
func TestCodeIsRefused(t *testing.T) {
	cases.NotShort(t)
	for name, pair := range map[string]string{
		"value":                                  x + call,
		"key":                                    call + "N",
		"tuple in a key":                         call + "\x85N",
		"deep tuple in a key":                    "K\x01K\x02" + call + "\x86\x86N",
		"tuple3 in a key":                        "K\x01" + call + "K\x02\x87N",
		"list":                                   x + "]" + call + "a",
		"lists":                                  x + "](K\x01" + call + "e",
		"nested list":                            x + "]]]" + call + "aaa",
		"set":                                    x + "\x8f(" + call + "\x90",
		"frozenset":                              x + "(" + call + "\x91",
		"frozenset as a key":                     "(" + call + "\x91N",
		"dict value":                             x + "}K\x01" + call + "s",
		"dict key":                               x + "}" + call + "K\x01s",
		"dict keys":                              x + "}(" + call + "K\x01u",
		"argument of OrderedDict":                x + "ccollections\nOrderedDict\n" + call + "\x85R",
		"argument of a tensor":                   x + "ctorch._utils\n_rebuild_tensor_v2\n" + call + "\x85R",
		"hooks of a parameter":                   x + "ctorch._utils\n_rebuild_parameter\nN\x88" + call + "\x87R",
		"argument of set":                        x + "c__builtin__\nset\n]" + call + "a\x85R",
		"argument of a namespace":                x + "cargparse\nNamespace\n" + call + "\x85\x81",
		"state of an object":                     x + "c__main__\nGPTConfig\n)\x81}X\x01\x00\x00\x00a" + call + "sb",
		"key in a state":                         x + "c__main__\nGPTConfig\n)\x81}" + call + "Nsb",
		"slots of an object":                     x + "c__main__\nGPTConfig\n)\x81N}X\x01\x00\x00\x00a" + call + "s\x86b",
		"state itself":                           x + "c__main__\nGPTConfig\n)\x81" + call + "b",
		"entries of an object":                   x + "c__main__\nD\n)\x81" + call + "Ns",
		"items of an object":                     x + "c__main__\nL\n)\x81" + call + "a",
		"metadata of a dict":                     x + "ccollections\nOrderedDict\n)R}X\x09\x00\x00\x00_metadata" + call + "sb",
		"persistent id":                          x + call + "Q",
		"persistent tuple":                       x + "(X\x07\x00\x00\x00storagecos\nsystem\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x01tQ",
		"place of a storage":                     x + "(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000" + call + "K\x01tQ",
		"module of a persistent id":              x + "(X\x06\x00\x00\x00modulecos\nsystem\nX\x01\x00\x00\x00aX\x01\x00\x00\x00btQ",
		"memoized and dropped":                   call + "q\xc80X\x01\x00\x00\x00xN",
		"memoized, not used":                     x + "]" + call + "q\xc8a",
		"pop":                                    call + "0X\x01\x00\x00\x00xN",
		"pop_mark":                               "(" + call + "1X\x01\x00\x00\x00xN",
		"dup":                                    x + call + "20",
		"inst":                                   x + "(X\x04\x00\x00\x00trueios\nsystem\n",
		"obj":                                    x + "(cos\nsystem\nX\x04\x00\x00\x00trueo",
		"newobj":                                 x + "cos\nsystem\nX\x04\x00\x00\x00true\x85\x81",
		"newobj_ex":                              x + "cos\nsystem\nX\x04\x00\x00\x00true\x85}\x92",
		"newobj of a class":                      x + "cos\n_Environ\n)\x81",
		"newobj Popen":                           x + "csubprocess\nPopen\nX\x04\x00\x00\x00true\x85\x81",
		"stack_global":                           x + "\x8c\x02os\x8c\x06system\x93X\x04\x00\x00\x00true\x85R",
		"stack_global as a key":                  "\x8c\x05posix\x8c\x06system\x93X\x04\x00\x00\x00true\x85RN",
		"ext1":                                   x + "\x82\x01",
		"ext2":                                   x + "\x83\x01\x00",
		"ext4":                                   x + "\x84\x01\x00\x00\x00",
		"build of a class":                       x + "c__main__\nC\n}X\x01\x00\x00\x00a" + call + "sb",
		"named only":                             x + "cos\nsystem\n",
		"named as a key":                         "cos\nsystem\nN",
		"named in a set":                         x + "\x8f(cos\nsystem\n\x90",
		"partial":                                x + "cfunctools\npartial\ncos\nsystem\n\x85R",
		"getattr":                                x + "c__builtin__\ngetattr\ncos\npath\nX\x04\x00\x00\x00join\x86R",
		"getattr of a class":                     x + "c__builtin__\ngetattr\nc__main__\nMode\nX\x0e\x00\x00\x00__subclasses__\x86R",
		"getattr of a number":                    x + "c__builtin__\ngetattr\nc__main__\nMode\nK\x01\x86R",
		"getattr of code":                        x + "c__builtin__\ngetattr\nc__main__\nrun\nX\x01\x00\x00\x00a\x86R",
		"called getattr":                         x + "c__builtin__\ngetattr\nc__main__\nMode\nX\x03\x00\x00\x00run\x86R)R",
		"called partial":                         x + "cfunctools\npartial\nc__main__\nf\n\x85R)R",
		"called twice":                           x + call + ")R",
		"result as a function":                   x + "c__main__\nMaker\n)R)R",
		"__builtin__.eval":                       x + "c__builtin__\neval\nX\x08\x00\x00\x00echo a b\x85R",
		"builtins.exec":                          x + "cbuiltins\nexec\nX\x08\x00\x00\x00echo a b\x85R",
		"__builtin__.__import__":                 x + "c__builtin__\n__import__\nX\x08\x00\x00\x00echo a b\x85R",
		"builtins.compile":                       x + "cbuiltins\ncompile\nX\x08\x00\x00\x00echo a b\x85R",
		"builtins.open":                          x + "cbuiltins\nopen\nX\x08\x00\x00\x00echo a b\x85R",
		"posix.system":                           x + "cposix\nsystem\nX\x08\x00\x00\x00echo a b\x85R",
		"nt.system":                              x + "cnt\nsystem\nX\x08\x00\x00\x00echo a b\x85R",
		"subprocess.Popen":                       x + "csubprocess\nPopen\nX\x08\x00\x00\x00echo a b\x85R",
		"commands.getoutput":                     x + "ccommands\ngetoutput\nX\x08\x00\x00\x00echo a b\x85R",
		"runpy.run_path":                         x + "crunpy\nrun_path\nX\x08\x00\x00\x00echo a b\x85R",
		"importlib.import_module":                x + "cimportlib\nimport_module\nX\x08\x00\x00\x00echo a b\x85R",
		"pty.spawn":                              x + "cpty\nspawn\nX\x08\x00\x00\x00echo a b\x85R",
		"webbrowser.open":                        x + "cwebbrowser\nopen\nX\x08\x00\x00\x00echo a b\x85R",
		"shutil.rmtree":                          x + "cshutil\nrmtree\nX\x08\x00\x00\x00echo a b\x85R",
		"ctypes.CDLL":                            x + "cctypes\nCDLL\nX\x08\x00\x00\x00echo a b\x85R",
		"pickle.loads":                           x + "cpickle\nloads\nX\x08\x00\x00\x00echo a b\x85R",
		"_pickle.loads":                          x + "c_pickle\nloads\nX\x08\x00\x00\x00echo a b\x85R",
		"cPickle.loads":                          x + "ccPickle\nloads\nX\x08\x00\x00\x00echo a b\x85R",
		"torch.load":                             x + "ctorch\nload\nX\x08\x00\x00\x00echo a b\x85R",
		"torch.hub.load":                         x + "ctorch.hub\nload\nX\x08\x00\x00\x00echo a b\x85R",
		"torch.serialization.load":               x + "ctorch.serialization\nload\nX\x08\x00\x00\x00echo a b\x85R",
		"torch.storage._load_from_bytes":         x + "ctorch.storage\n_load_from_bytes\nX\x08\x00\x00\x00echo a b\x85R",
		"numpy.load":                             x + "cnumpy\nload\nX\x08\x00\x00\x00echo a b\x85R",
		"numpy.testing._private.utils.runstring": x + "cnumpy.testing._private.utils\nrunstring\nX\x08\x00\x00\x00echo a b\x85R",
		"timeit.timeit":                          x + "ctimeit\ntimeit\nX\x08\x00\x00\x00echo a b\x85R",
		"code.interact":                          x + "ccode\ninteract\nX\x08\x00\x00\x00echo a b\x85R",
		"operator.attrgetter":                    x + "coperator\nattrgetter\nX\x08\x00\x00\x00echo a b\x85R",
		"operator.methodcaller":                  x + "coperator\nmethodcaller\nX\x08\x00\x00\x00echo a b\x85R",
		"types.FunctionType":                     x + "ctypes\nFunctionType\nX\x08\x00\x00\x00echo a b\x85R",
		"marshal.loads":                          x + "cmarshal\nloads\nX\x08\x00\x00\x00echo a b\x85R",
		"functools.reduce":                       x + "cfunctools\nreduce\nX\x08\x00\x00\x00echo a b\x85R",
		"copyreg._reconstructor":                 x + "ccopyreg\n_reconstructor\nX\x08\x00\x00\x00echo a b\x85R",
		"__main__.run":                           x + "c__main__\nrun\nX\x08\x00\x00\x00echo a b\x85R",
		"transformers.pipeline":                  x + "ctransformers\npipeline\nX\x08\x00\x00\x00echo a b\x85R",
		"pip._internal.main":                     x + "cpip._internal\nmain\nX\x08\x00\x00\x00echo a b\x85R",
		"typing.get_type_hints":                  x + "ctyping\nget_type_hints\nX\x08\x00\x00\x00echo a b\x85R",
		"platform.popen":                         x + "cplatform\npopen\nX\x08\x00\x00\x00echo a b\x85R",
		"asyncio.subprocess.create_subprocess_shell": x + "casyncio.subprocess\ncreate_subprocess_shell\nX\x08\x00\x00\x00echo a b\x85R",
		"torch._inductor.codecache.compile_file":     x + "ctorch._inductor.codecache\ncompile_file\nX\x08\x00\x00\x00echo a b\x85R",
		"builtins.type":                              x + "cbuiltins\ntype\nX\x08\x00\x00\x00echo a b\x85R",
		"multiprocessing.util._exec":                 x + "cmultiprocessing.util\n_exec\nX\x08\x00\x00\x00echo a b\x85R",
		"socket.create_connection":                   x + "csocket\ncreate_connection\nX\x08\x00\x00\x00echo a b\x85R",
		"urllib.request.urlopen":                     x + "curllib.request\nurlopen\nX\x08\x00\x00\x00echo a b\x85R",
		"logging.config.listen":                      x + "clogging.config\nlisten\nX\x08\x00\x00\x00echo a b\x85R",
		"torch.fx.graph_module.reduce_graph_module":  x + "ctorch.fx.graph_module\nreduce_graph_module\nX\x08\x00\x00\x00echo a b\x85R",
		"torch.jit.load":                             x + "ctorch.jit\nload\nX\x08\x00\x00\x00echo a b\x85R",
		"six.moves.builtins.eval":                    x + "csix.moves.builtins\neval\nX\x08\x00\x00\x00echo a b\x85R",
		"pexpect.spawn":                              x + "cpexpect\nspawn\nX\x08\x00\x00\x00echo a b\x85R",
		"text to a class":                            x + "cparamiko\nProxyCommand\nX\x0c\x00\x00\x00touch /tmp/x\x85R",
		"dotted":                                     x + "\x8c\x13torch.serialization\x8c\x09os.system\x93X\x04\x00\x00\x00true\x85R",
		"dotted in __main__":                         x + "\x8c\x08__main__\x8c\x09os.system\x93X\x04\x00\x00\x00true\x85R",
		"dotted typing":                              x + "\x8c\x06typing\x8c\x08sys.exit\x93",
		"from type":                                  x + "ctorch._tensor\n_rebuild_from_type_v2\n(cos\nsystem\nctorch\nTensor\nX\x04\x00\x00\x00true\x85NtR",
		"from type, any function":                    x + "ctorch._tensor\n_rebuild_from_type_v2\n(c__main__\nrun\nctorch\nTensor\nX\x04\x00\x00\x00true\x85NtR",
		"from type, a partial":                       x + "ctorch._tensor\n_rebuild_from_type_v2\n(cfunctools\npartial\nctorch.hub\nload\n\x85Rc__main__\nC\nX\x01\x00\x00\x00a\x85NtR",
		"from type, itself":                          x + "ctorch._tensor\n_rebuild_from_type_v2\n(ctorch._tensor\n_rebuild_from_type_v2\nc__main__\nC\n(ctorch.hub\nload\nctorch\nTensor\nX\x01\x00\x00\x00a\x85NtNtR",
		"a list that walks an object":                x + "cbuiltins\nlist\nc__main__\nMapper\n)\x81}X\x02\x00\x00\x00fnctorch.hub\nload\nsb\x85R",
		"a file of numpy's":                          x + "cnumpy\nmemmap\n(X\x01\x00\x00\x00aX\x05\x00\x00\x00uint8X\x02\x00\x00\x00w+t\x81",
		"a process of words":                         x + "cpsutil\nPopen\n](X\x05\x00\x00\x00touchX\x01\x00\x00\x00ae\x85R",
		"a folder of torch's":                        x + "ctorch.utils.tensorboard\nSummaryWriter\nX\x04\x00\x00\x00runs\x85R",
		"Python's text to a class":                   x + "c__main__\nC\nX\x06\x00\x00\x00exit()\x85R",
		"reduce":                                     x + "cfunctools\nreduce\nctorch.hub\nload\nX\x01\x00\x00\x00aX\x01\x00\x00\x00b\x86\x86R",
		"print":                                      x + "cbuiltins\nprint\nX\x01\x00\x00\x00a\x85R",
		"newobj of print":                            x + "cbuiltins\nprint\nX\x01\x00\x00\x00a\x85\x81",
		"map named":                                  x + "cbuiltins\nmap\n",
		"a called method of a text":                  x + "cbuiltins\ngetattr\nX\x01\x00\x00\x00aX\x06\x00\x00\x00format\x86R)R",
		"type of three":                              x + "c__builtin__\ntype\nX\x01\x00\x00\x00C)}\x87R",
	} {
		err := opensWith(t, func(b string) string { return strings.TrimSuffix(b, "u.") + pair + "u." })
		if err == nil || !strings.HasSuffix(err.Error(), ": refused") &&
			!strings.HasSuffix(err.Error(), ": refused, want a function") &&
			!strings.HasSuffix(err.Error(), "a tensor of another type than torch.Tensor and Parameter") {
			t.Errorf("%s: %v, want it refused", name, err)
		}
	}
	for name, change := range map[string]func(string) string{
		"first":     func(b string) string { return b[:2] + call + "0" + b[2:] },
		"beneath":   func(b string) string { return b[:2] + call + b[2:] },
		"left over": func(b string) string { return strings.TrimSuffix(b, ".") + call + "." },
	} {
		if err := opensWith(t, change); err == nil || !strings.HasSuffix(err.Error(), ": refused") {
			t.Errorf("%s: %v, want it refused", name, err)
		}
	}
}

// TestWhatIsNoCodeIsPassedBy: classes and calls that make data do not keep a checkpoint from being
// opened.
func TestWhatIsNoCodeIsPassedBy(t *testing.T) {
	for name, pair := range map[string]string{
		"dataclass":         x + "c__main__\nGPTConfig\n)\x81}X\x06\x00\x00\x00n_headK\x04sb",
		"namespace":         x + "cargparse\nNamespace\n)\x81}X\x02\x00\x00\x00lrK\x01sb",
		"class as a key":    "cpytorch_lightning.callbacks\nModelCheckpoint\nN",
		"enum":              x + "cmegatron.core.transformer.enums\nAttnBackend\nK\x05\x85R",
		"enum of words":     x + "ctransformers.trainer_utils\nIntervalStrategy\nX\x05\x00\x00\x00steps\x85R",
		"enum as a key":     "c__main__\nMode\nK\x01\x85RN",
		"a process's":       x + "c__mp_main__\nGPTConfig\n)\x81",
		"a method":          x + "c__builtin__\ngetattr\nc__main__\nHook\n)\x81X\x02\x00\x00\x00_f\x86R",
		"generator":         x + "ctorch._C\nGenerator\nctorch\ndevice\nX\x03\x00\x00\x00cpu\x85R\x85R",
		"Cython's":          x + "cnumpy.random._pcg64\n__pyx_unpickle_PCG64\nK\x01\x85R",
		"pandas":            x + "cpandas._libs.internals\n_unpickle_block\nK\x01\x85R",
		"enum by name":      x + "c__builtin__\ngetattr\nc__main__\nMode\nX\x05\x00\x00\x00TRAIN\x86R",
		"path":              x + "cpathlib\nPosixPath\nX\x01\x00\x00\x00/X\x01\x00\x00\x00a\x86R",
		"date":              x + "cdatetime\ndatetime\nC\n\x07\xe8\x01\x01\x00\x00\x00\x00\x00\x00\x85R",
		"timedelta":         x + "cdatetime\ntimedelta\nK\x01K\x00K\x00\x87R",
		"set":               x + "c__builtin__\nset\n]X\x0f\x00\x00\x00any text at alla\x85R",
		"defaultdict":       x + "ccollections\ndefaultdict\nc__builtin__\nlist\n\x85R",
		"own dict":          x + "c__main__\nAttributeDict\n)RX\x01\x00\x00\x00aK\x01s",
		"own set":           x + "c__main__\nSeen\n]K\x01a\x85R",
		"partial":           x + "cfunctools\npartial\nctorch.nn\nLayerNorm\n\x85R",
		"function named":    x + "ctorch.nn.functional\ngelu\n",
		"dtype":             x + "ctorch\nfloat16\n",
		"device":            x + "ctorch\ndevice\nX\x04\x00\x00\x00cudaK\x00\x86R",
		"regex":             x + "cre\n_compile\nX\x03\x00\x00\x00a bK \x86R",
		"logger":            x + "clogging\ngetLogger\nX\x03\x00\x00\x00a.b\x85R",
		"any":               x + "ctyping\nAny\n",
		"Optional":          x + "coperator\ngetitem\nctyping\nOptional\nc__builtin__\nint\n\x86R",
		"NoneType":          x + "c__builtin__\ntype\nN\x85R",
		"nested class":      x + "\x8c\x08__main__\x8c\nGPT.Config\x93)\x81",
		"uuid":              x + "cuuid\nUUID\n)\x81}X\x03\x00\x00\x00intK\x01sb",
		"counter":           x + "ccollections\nCounter\n}\x85R",
		"numpy dtype":       x + "cnumpy\ndtype\nX\x02\x00\x00\x00f8\x89\x88\x87R",
		"scalar":            x + "cnumpy._core.multiarray\nscalar\ncnumpy\ndtype\nX\x02\x00\x00\x00f8\x89\x88\x87RC\x08\x00\x00\x00\x00\x00\x00\x00\x00\x86R",
		"reconstructor":     x + "ccopy_reg\n_reconstructor\nc__main__\nC\nc__builtin__\nobject\nN\x87R",
		"text of an enum":   x + "c__main__\nToken\nX\x0e\x00\x00\x00<|start|>: a/b\x85R",
		"own set of texts":  x + "c__main__\nSeen\n]X\x03\x00\x00\x00a ba\x85R",
		"function":          x + "cbuiltins\nlen\n",
		"operator":          x + "c_operator\nlt\n",
		"partial of max":    x + "cfunctools\npartial\ncbuiltins\nmax\n\x85R",
		"error of Python 2": x + "cexceptions\nValueError\nX\x0d\x00\x00\x00a bad (thing)\x85R",
		"error":             x + "ctorch\nOutOfMemoryError\nX\x06\x00\x00\x00a (b);\x85R",
		"int | None":        x + "c_functools\nreduce\nc_operator\nor_\ncbuiltins\nint\ncbuiltins\ntype\nN\x85R\x86\x86R",
		"abstract":          x + "ccollections.abc\nMapping\n",
		"method of text":    x + "cbuiltins\ngetattr\ncbuiltins\nstr\nX\x05\x00\x00\x00lower\x86R",
		"format":            x + "\x8c\x0ctorch._utils\x8c\x17torch.contiguous_format\x93",
		"return type":       x + "ctorch.return_types\nmax\nK\x01K\x02\x86}\x86R",
		"time zone":         x + "cdateutil.tz.tz\ntzutc\n)R",
		"frozen dict":       x + "cfrozendict\nfrozendict\n}\x85R",
		"signal":            x + "csignal\nSignals\nK\x0f\x85R",
		"lower case":        x + "c__main__\nconfig\nX\x01\x00\x00\x00a\x85\x81",
		"itemgetter":        x + "coperator\nitemgetter\nK\x01\x85R",
		"bytes":             x + "c_codecs\nencode\nX\x03\x00\x00\x00abcX\x06\x00\x00\x00latin1\x86R",
	} {
		err := opensWith(t, func(b string) string { return strings.TrimSuffix(b, "u.") + pair + "u." })
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAPickleBesideTheObject: nothing reads it, and PyTorch writes none.
func TestAPickleBesideTheObject(t *testing.T) {
	err := opensWith(t, func(b string) string { return b }, "archive/more.pkl")
	if err == nil || !strings.Contains(err.Error(), `"archive/more.pkl": a pickle beside data.pkl`) {
		t.Errorf("%v", err)
	}
}

// opensWith returns the error of nanoGPT's file with another object and with more pickles.
func opensWith(t *testing.T, change func(string) string, more ...string) error {
	t.Helper()
	golden := nanoGPT(t)["ckpt.pt"]
	from, err := zip.NewReader(bytes.NewReader(golden), int64(len(golden)))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	to := zip.NewWriter(&b)
	add := func(name, data string) {
		w, err := to.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		if err == nil {
			_, err = io.WriteString(w, data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range from.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		text := string(data)
		if strings.HasSuffix(f.Name, "/data.pkl") {
			text = change(text)
		}
		add(f.Name, text)
	}
	for _, name := range more {
		add(name, "\x80\x02N.")
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := checkpoint.OpenFS(folder.Memory{"ckpt.pt": b.Bytes()}, "", checkpoint.Options{})
	if err == nil {
		err = c.Close()
	}
	return err
}
