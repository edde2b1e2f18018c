// The build of a process: the submitting process and its workers must have the same.

package worker

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
)

// buildOption is the pipeline option that tells the workers the submitter's build.
const buildOption = "corpus_build"

// A build identifies a binary. Binaries of one version for two platforms have different bytes.
type build struct {
	Version, Platform, SHA256 string
}

// thisBuild reads the binary of this process.
func thisBuild(version string) (build, error) {
	b := build{Version: version, Platform: runtime.GOOS + "/" + runtime.GOARCH}
	name, err := os.Executable()
	if err != nil {
		return b, err
	}
	f, err := os.Open(name)
	if err != nil {
		return b, err
	}
	defer f.Close()
	hash := sha256.New()
	_, err = io.Copy(hash, f)
	b.SHA256 = hex.EncodeToString(hash.Sum(nil))
	return b, err
}

// sameBuild returns an error unless this process has the build that the option names. A pipeline
// names its functions, and another build may have other functions with the same names, or compute
// other digits.
func sameBuild(version, option string) error {
	var theirs build
	if err := json.Unmarshal([]byte(option), &theirs); err != nil {
		return fmt.Errorf("the job does not say which build submitted it: option %s is %.80q",
			buildOption, option)
	}
	ours, err := thisBuild(version)
	if err != nil {
		return err
	}
	if !ours.equal(theirs) {
		return fmt.Errorf("this worker is %s, the job was submitted by %s: want the same build",
			ours, theirs)
	}
	return nil
}

// equal compares the bytes on one platform, and the released versions between platforms.
func (b build) equal(other build) bool {
	if b.Platform == other.Platform {
		return b.SHA256 == other.SHA256
	}
	return b.Version != "" && b.Version == other.Version
}

func (b build) String() string {
	return fmt.Sprintf("version %q for %s, SHA-256 %.12s", b.Version, b.Platform, b.SHA256)
}
