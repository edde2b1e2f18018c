# The commands of this project, each one line to copy. CI runs .ci/run.

.PHONY: build dist release wheel npm proxy publish licenses api apidiff release-check man man-lint image corpus-image work test long race fuzz digest bits weights judges bench gpu-bench gpu-kit pictures lint staticcheck staticcheck-modules actionlint vulncheck module page ptx wasm

build: ## one static binary: ./gpt
	CGO_ENABLED=0 go build -trimpath -ldflags="-s -w $(STAMP)" -o gpt ./cmd/gpt

# The bits depend on the sources, on VERSION with its COMMIT and DATE, and on the release of Go, and on
# nothing else: neither on the folder nor on the state of git, which -buildvcs would write into them.
VERSION ?= $(shell git describe --tags --always --dirty)
COMMIT ?= $(shell git rev-parse HEAD 2>/dev/null)
DATE ?= $(shell TZ=UTC git log -1 --format=%cd --date=format-local:%Y-%m-%d 2>/dev/null)
RELEASE_GO = env -u GOFLAGS -u GOAMD64 -u GOARM64 -u GOEXPERIMENT CGO_ENABLED=0 GOWORK=off
STAMP = -X main.version=$(VERSION) -X main.commit=$(COMMIT) -X main.date=$(DATE)
RELEASE_FLAGS = -trimpath -buildvcs=false -ldflags="-s -w -buildid= $(STAMP)"
RELEASE = $(RELEASE_GO) go build $(RELEASE_FLAGS)
TARGETS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64

dist: ## binaries for six systems, archives with manual pages, and their sums: dist/SHA256SUMS
	@test -n "$(VERSION)" || { echo "no version: this is no git checkout; make dist VERSION=..."; exit 1; }
	rm -rf dist && mkdir dist
	@set -e; for target in $(TARGETS); do \
		os=$${target%/*} arch=$${target#*/}; \
		out=dist/gpt-$(subst /,-,$(VERSION))-$$os-$$arch; \
		if [ $$os = windows ]; then out=$$out.exe; fi; \
		echo $$out; \
		GOOS=$$os GOARCH=$$arch $(RELEASE) -o $$out ./cmd/gpt; \
	done
	$(MAKE) man
	go run ./dev/pack dist/gpt-*
	cd dist && $(SUMS)
SUMS = files=$$(find . -maxdepth 1 -type f ! -name SHA256SUMS | LC_ALL=C sort | cut -c 3-); \
	if command -v sha256sum >/dev/null; then sha256sum $$files; else shasum -a 256 $$files; fi >SHA256SUMS

# Where the release will be, and who its packages name. All files have the commit's time.
ADDRESS ?= github.com/OWNER/picogpt
MAINTAINER ?= picogpt authors <authors@picogpt.invalid>
EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null)
RELEASER = cd x/release && GOWORK=off go run . -version '$(VERSION)' -time '$(or $(EPOCH),1767225600)' \
	-address '$(ADDRESS)' -maintainer '$(MAINTAINER)'
CLEAN = test -z "$$(git status --porcelain)" || { git status --short; echo "commit this first"; exit 1; }

release: ## all files of a release, from a clean tree: make release VERSION=v0.1.0 ADDRESS=github.com/you/picogpt
	@$(CLEAN)
	$(MAKE) licenses api
	@$(CLEAN)
	$(MAKE) dist
	$(RELEASER) pack ../../dist
	$(MAKE) proxy
	cd dist && $(SUMS)

wheel: dist ## a wheel of each system's binary, for pip
	$(RELEASER) wheel ../../dist

npm: dist ## a package of each system's binary, and one that chooses, for npx
	$(RELEASER) npm ../../dist

proxy: ## a module proxy of the commit with an address and a version: dist/proxy
	rm -rf dist/proxy dist/source && mkdir -p dist/source
	git archive HEAD | tar -x -C dist/source
	cd dist/source && go run ./dev/module -proxy ../proxy '$(ADDRESS)' '$(VERSION)'
	rm -r dist/source

publish: ## what make release has made, as a draft at GitHub, by gh
	cd dist && gh release create '$(VERSION)' --draft --title '$(VERSION)' --notes-file NOTES.md \
		$$(find . -maxdepth 1 -type f ! -name 'NOTES.md' | LC_ALL=C sort) homebrew/* scoop/* aur/PKGBUILD

licenses: ## cmd/gpt/LICENSES, of the modules that go.mod has now
	$(RELEASER) licenses ../..

api: ## x/release/api.txt, the exported API, which a version promises
	$(RELEASER) api ../..

apidiff: ## how the exported API differs from the last release's; what breaks must be in breaks.txt
	$(RELEASER) apidiff ../..

release-check: ## a release made twice, installed in every way, and used: make release-check TARGETS=linux/amd64
	x/release/check '$(TARGETS)'

man: ## the manual pages, from the texts of --help: dist/man/man1/gpt.1 and one for each command
	@$(RELEASE_GO) go run $(RELEASE_FLAGS) ./cmd/gpt help --force --man dist/man/man1

man-lint: man ## what mandoc says of them
	makewhatis dist/man # so that pages find each other
	MANPATH=$(CURDIR)/dist/man mandoc -T lint -W style dist/man/man1/*.1

# Whichever of these tools is there builds it; podman and buildah need no root.
ENGINE ?= $(firstword $(foreach tool,podman buildah docker,$(if $(shell command -v $(tool)),$(tool))))
IMAGE ?= gpt:$(VERSION)
ARCH ?= amd64

image: ## the server as an image from scratch: make image IMAGE=registry/gpt:v1 ARCH=arm64
	@test -n "$(ENGINE)" || { echo "no podman, buildah or docker found"; exit 1; }
	$(MAKE) dist TARGETS=linux/$(ARCH)
	$(ENGINE) build --platform linux/$(ARCH) -f Containerfile \
		--build-arg BINARY=gpt-$(VERSION)-linux-$(ARCH) -t $(IMAGE) dist

# The folder has what the image has: the binary and an empty /tmp.
CORPUS_IMAGE ?= corpus:$(VERSION)
corpus-image: ## the pipelines' workers as an image: make corpus-image CORPUS_IMAGE=registry/corpus:v1
	@test -n "$(ENGINE)" || { echo "no podman, buildah or docker found"; exit 1; }
	$(MAKE) dist/corpus/linux-$(ARCH)
	$(ENGINE) build --platform linux/$(ARCH) -f x/corpus/Containerfile -t $(CORPUS_IMAGE) \
		dist/corpus/linux-$(ARCH)

# dist/corpus/OS-ARCH/corpus: the binary of the image, and for another system its twin.
dist/corpus/%: FORCE
	@test -n "$(VERSION)" || { echo "no version: this is no git checkout; make $@ VERSION=..."; exit 1; }
	mkdir -p $@/tmp
	set -e; target=$*; cd x/corpus && GOOS=$${target%-*} GOARCH=$${target#*-} $(RELEASE) -o ../../$@/corpus .
FORCE:

# CI, releases and their tests are by each go.mod alone: GOWORK=off.
work: ## go.work, with which an editor sees every module; git ignores it
	rm -f go.work go.work.sum
	go work init
	go work use -r .

test: ## everything that needs no other machine
	go test ./...

# A third of the packages, by a number: make long THIRD=0. Random tests do all of their seeds, which
# takes hours, or with CASES=3 thrice as many as usual.
THIRD ?=
long: ## every case where test takes a sample; make long CASES=3 THIRD=0 is a part of them
	go test -tags long -timeout 180m $$(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./... | \
		awk -v third='$(THIRD)' 'third == "" || NR % 3 == third % 3')

# The packages that start goroutines, by dev/changed/parts.txt, without what the detector multiplies and
# cannot find anything in: tests of leaves, and of arithmetic whose threads other tests have too. Where
# a package only lends what it has to goroutines, or starts few, the tests that do so are run.
RACE ?= $(eval RACE := $$(shell go run ./dev/changed race))$(RACE)
RACELESS := TestVariants|TestBitsAreTheSame|TestLinearIsItsDefinition|TestConvert|AreAccurate|IsAccurate
RACELESS := $(RACELESS)|KeepWhatIsNotFinite|KeepsWhatIsNotFinite|TestFormatsKeepTheirBits|NotFiniteAreAnError
LENDING := ./tokenizer ./cmd/gpt
ALONE = $(filter-out $(LENDING) ./x/attention ./x/corpus,$(RACE))
LENT := TestManyGoroutines|TestLayerIsShared|TestAFileOfKeys|TestItAnswersWhile

race: ## what runs side by side, under the race detector: make race RACE=./batch
	$(if $(ALONE),go test -race -short -skip '$(RACELESS)' $(ALONE))
	$(if $(filter $(LENDING),$(RACE)),go test -race -run '$(LENT)' $(filter $(LENDING),$(RACE)))
	$(if $(filter ./x/attention,$(RACE)),cd x/attention && go test -race -run '$(LENT)')
	$(if $(filter ./x/corpus,$(RACE)),cd x/corpus && go test -race -short ./internal/...)

# A number of executions and not a time: at the end of a time, Go before 1.27 may report its own
# deadline as a failure (go.dev/issue/75804), most often for FuzzRoundTrip on a busy machine.
# Targets that do fewer than 2000 executions a second have a tenth of them.
FUZZTIME ?= 100000x
SLOWFUZZ := FuzzBody FuzzHeaders FuzzNames FuzzEncoder FuzzText FuzzSchema FuzzTuned
FUZZ ?= $(shell go run ./dev/changed fuzz)
fuzz: ## every fuzz target for FUZZTIME, or some: make fuzz FUZZ=weights:FuzzOpen
	@set -e; for at in $(FUZZ); do \
		target=$${at#*:}; n=$(FUZZTIME); \
		case " $(SLOWFUZZ) " in *" $$target "*) n=$(FUZZTIME:0x=x);; esac; \
		echo "$$at $$n"; \
		(cd $${at%:*} && go test -run '^$$' -fuzz "^$$target$$" -fuzztime $$n -fuzzminimizetime 10x); \
	done

digest: ## one SHA-256 of logits and texts in every number format: the same on every machine
	@go run ./dev/digest

bits: ## what a new machine must pass: the digest, and the tests of bits
	.ci/bits

# The texts have copyrights of their own: gpt check tells where they are. Without them it compares
# what needs none.
MODEL ?= gpt2
TEXTS ?=
weights: ## a model of the hub against the reference and what was published: make weights MODEL=gpt2
	go run ./cmd/gpt pull '$(MODEL)'
	go run ./cmd/gpt check -m '$(MODEL)'
	go run ./cmd/gpt check -m '$(MODEL)' --published $(TEXTS)

# Each is a program of dev/judges; run says what they need. SEED= draws other cases.
JUDGES ?=
SEED ?= 1
judges: ## other people's libraries judge gpt, in an environment of 7 GB: make judges JUDGES=quants SEED=2
	SEED='$(SEED)' dev/judges/run $(JUDGES)

bench: ## each kernel beside gonum's, for benchstat
	go test -run '^$$' -bench . -count 6 ./kernels
	cd x/attention && go test -run '^$$' -bench . -skip Family -count 6

# PTX of sm_70 (Volta) runs on every later GPU: the driver compiles it there. Without contraction,
# clang writes .rn, which no later compiler may fuse. The first line is the sum of the sources. The
# second file is for sm_80 (Ampere) and later, which multiply matrices of integers. clang writes it for
# sm_70 too: for sm_80 it would write max.NaN, which makes +0 of ReLU's −0.
PTX ?= model/gpu/cuda
ptx: ## the kernels for the CUDA driver: model/gpu/cuda/gpt2.ptx.gz and gpt2_sm80.ptx.gz; wants clang-16
	@command -v clang-16 >/dev/null || { echo "no clang-16: apt-get install clang-16"; exit 1; }
	@set -e; sum=$$(cat model/gpu/kernels/*.cl model/gpu/kernels/*.h | \
		if command -v sha256sum >/dev/null; then sha256sum; else shasum -a 256; fi | cut -c 1-64); \
	make() { \
		echo "clang-16 model/gpu/kernels/gpt2.cl: $$1"; \
		clang-16 -x cuda model/gpu/kernels/gpt2.cl -nocudainc -nocudalib --cuda-device-only \
			--cuda-gpu-arch=sm_70 -ffp-contract=off -O3 $$2 -S -o $$1; \
		{ echo "// model/gpu/kernels $$sum"; sed "$$3" $$1; } | gzip -9n >$$1.gz && rm $$1; \
	}; \
	make $(PTX)/gpt2.ptx; \
	make $(PTX)/gpt2_sm80.ptx -DMATRICES 's/^[.]version 6.0$$/.version 7.0/; s/^[.]target sm_70$$/.target sm_80/'

gpu-bench: ## the speeds of 124M and 1.5B on the GPU that $GPT_DEVICE names, cuda if it names none
	go run -tags gpu ./cmd/gpt bench table --device "$${GPT_DEVICE:-cuda}"

# For a machine with a GPU, without Go and a network: x/bench/gpu/README.md. Test binaries find their
# files where go test runs them, in the folder of their package.
KIT = dist/gpu-kit
XZ ?= -9
KIT_GO = env -u GOFLAGS CGO_ENABLED=0 GOWORK=off GOOS=linux GOARCH=amd64 go
KIT_FLAGS = -trimpath -buildvcs=false -tags gpu -ldflags="-s -w -buildid="
gpu-kit: ## what tries a GPU in nine minutes, for Linux on x86-64: dist/gpu-kit.tar.xz
	rm -rf $(KIT) && mkdir -p $(KIT)
	GOOS=linux GOARCH=amd64 $(RELEASE) -tags gpu -o $(KIT)/gpt ./cmd/gpt
	cd x/bench/gpu && $(KIT_GO) build $(KIT_FLAGS) -o ../../../$(KIT)/kit .
	@set -e; for dir in $$($(KIT_GO) list -tags gpu \
		-f '{{if or .TestGoFiles .XTestGoFiles}}{{.Dir}}{{end}}' ./model/gpu/... ./model); do \
		p=$${dir#$(CURDIR)/}; echo $(KIT)/$$p; mkdir -p $(KIT)/$$p; \
		$(KIT_GO) test -c $(KIT_FLAGS) -o $(KIT)/$$p/$${p##*/}.test ./$$p; \
		if [ -d $$p/testdata ]; then cp -r $$p/testdata $(KIT)/$$p; fi; \
	done
	cp -r model/gpu/kernels $(KIT)/model/gpu
	cd x/bench/gpu && cp run.sh machine.sh peers.py README.md ../../../$(KIT)
	echo "$(VERSION)" >$(KIT)/VERSION
	tar --sort=name --owner=0 --group=0 --numeric-owner --mtime=2000-01-01 -C dist -cf - gpu-kit | \
		xz $(XZ) >$(KIT).tar.xz
	@ls -l $(KIT).tar.xz

# Tests compare them: terminals and charts byte for byte, pages by what they were made from. Pages
# want Chromium.
pictures: ## what README and docs/ show, drawn anew in docs/pictures
	go test -count=1 ./cmd/gpt ./serve/page ./cmd/gpt/internal/pages ./dev/picture \
		-run TestPictures -update

lint:
	@test -z "$$(gofmt -l .)" || { gofmt -l .; exit 1; }
	go vet ./...

# The tool is fetched by its version and stands in no go.mod.
STATICCHECK = go run honnef.co/go/tools/cmd/staticcheck@v0.8.2
staticcheck: ## what go vet does not find
	$(STATICCHECK) ./...

staticcheck-modules: ## … with the tag gpu, and in every other module
	$(STATICCHECK) -tags gpu ./model/gpu/... ./cmd/gpt ./model
	@set -e; for module in cmd/gpt/browser x/attention x/corpus x/deploy x/release x/bench/*/go.mod; do \
		cd $(CURDIR)/$${module%go.mod} && echo "staticcheck $$module" && $(STATICCHECK) ./...; \
	done

ACTIONLINT = go run github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
actionlint: ## the workflows in .github
	$(ACTIONLINT)

GOVULNCHECK = go run golang.org/x/vuln/cmd/govulncheck@v1.9.0
GOVULNDB ?= https://vuln.go.dev
vulncheck: ## known vulnerabilities, where the database can be read: make vulncheck GOVULNDB=file:///db
	@if curl -fsSL -m 30 -o /dev/null '$(GOVULNDB)/index/db.json'; then set -e; \
		$(GOVULNCHECK) -db '$(GOVULNDB)' ./...; \
		cd x/corpus && $(GOVULNCHECK) -db '$(GOVULNDB)' ./...; \
	else echo 'vulncheck: no database at $(GOVULNDB): vulnerabilities are NOT checked'; fi

# PATH is the module's here. The recipe finds the search path where Linux has make's own, or else takes
# the usual places.
MODULE = $(if $(filter command line,$(origin PATH)),$(PATH))
RELEASED = $(if $(filter command line,$(origin VERSION)),$(VERSION))
module: ## the module's address, and a version: make module PATH=github.com/you/picogpt VERSION=v0.3.0
	@path="$$(command -p tr '\0' '\n' 2>/dev/null </proc/$$PPID/environ | command -p sed -n 's/^PATH=//p')"; \
	PATH="$$path:$$(command -p getconf PATH):/usr/local/go/bin:/opt/homebrew/bin" \
		go run ./dev/module '$(MODULE)' $(RELEASED)

# The tag lets kernels use wasm/leaves.wasm, which the page's worker lends it. No TLS, no HTTP/2: nobody
# listens.
# Packages that no token waits for are not inlined: the page is smaller by 190 kB.
PAGE_COLD = crypto/... encoding/asn1 math/big net/... ./checkpoint/... ./internal/chat/... \
	./internal/torch ./serve/...
PAGE_FLAGS = -trimpath -buildvcs=false -tags simd128,nethttpomithttp2 -ldflags="-s -w -buildid=" \
	$(PAGE_COLD:%=-gcflags=%=-l)
PAGE ?= dist/page
page: ## the playground without a server, for any static host: dist/page
	mkdir -p $(dir $(PAGE))
	GOOS=js GOARCH=wasm $(RELEASE_GO) go build $(PAGE_FLAGS) -o $(PAGE).wasm ./cmd/page
	$(RELEASE_GO) go run ./dev/page $(PAGE).wasm "$$(go env GOROOT)/lib/wasm/wasm_exec.js" $(PAGE)
	rm $(PAGE).wasm

# As with the PTX, the file says of which source it was made: in a section of its own, source.
WASM ?= kernels/wasm/leaves.wasm
wasm: ## the kernels of a browser: kernels/wasm/leaves.wasm; wants clang-16 and lld-16
	@command -v wasm-ld-16 >/dev/null || { echo "no wasm-ld-16: apt-get install clang-16 lld-16"; exit 1; }
	clang-16 --target=wasm32 -msimd128 -O3 -ffp-contract=off -ffreestanding -nostdlib \
		-fuse-ld="$$(command -v wasm-ld-16)" -Wl,--no-entry,--import-memory,--strip-all \
		-o $(WASM) kernels/wasm/leaves.c
	@sum=$$(if command -v sha256sum >/dev/null; then sha256sum; else shasum -a 256; fi \
		<kernels/wasm/leaves.c | cut -c 1-64); printf '\000\107\006source%s' "$$sum" >>$(WASM)
	@chmod 644 $(WASM)
