package picogpt_test

// What the originals found when they judged gpt: dev/judges/results, the table of docs/proofs.md,
// and the count in README.md say the same.

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"picogpt/dev/picture"
)

// A claim is what a judge recorded of one.
type claim struct {
	Claim                       string
	By                          map[string]string // libraries, and their versions
	Cases, Differences, Rounded int
}

// TestProofsHaveWhatTheJudgesFound: each judge has a record, of the libraries that are pinned now
// and of claims that it still has, and documents tell what it says.
func TestProofsHaveWhatTheJudgesFound(t *testing.T) {
	text := func(name string) string {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	pinned := "\n" + text("dev/judges/requirements.txt") + text("dev/judges/package.json")
	files, err := filepath.Glob("dev/judges/*.py")
	if err != nil {
		t.Fatal(err)
	}
	table := "| judge | claim | by | version | date | cases | differences |\n" +
		"|---|---|---|---|---|---:|---:|\n"
	judges, cases := 0, 0
	for _, file := range files {
		name, source := strings.TrimSuffix(filepath.Base(file), ".py"), text(file)
		if !strings.Contains(source, "\njudge = Judge(") {
			continue
		}
		judges++
		var found struct {
			Date   string
			Claims []claim
		}
		record := text("dev/judges/results/" + name + ".json") // by RECORD=1 dev/judges/run NAME
		if err := json.Unmarshal([]byte(record), &found); err != nil || len(found.Claims) == 0 {
			t.Fatalf("%s: %v, %d claims", name, err, len(found.Claims))
		}
		if n := strings.Count(source, "with judge.claim("); n > len(found.Claims) {
			t.Errorf("%s: %d claims, %d recorded: RECORD=1 make judges", name, n, len(found.Claims))
		}
		for _, c := range found.Claims {
			cases += c.Cases
			if !strings.Contains(source, c.Claim) || c.Differences > 0 {
				t.Errorf("%s: no claim %q, or it has differences", name, c.Claim)
			}
			by, versions := slices.Sorted(maps.Keys(c.By)), []string{}
			for _, library := range by {
				version := c.By[library]
				versions = append(versions, version)
				if !strings.Contains(pinned, "\n"+library+"=="+version+" ") &&
					!strings.Contains(pinned, fmt.Sprintf("%q: %q",
						strings.TrimPrefix(library, "npm "), version)) {
					t.Errorf("%s: recorded of %s %s, which is not pinned", name, library, version)
				}
			}
			differences := strconv.Itoa(c.Differences)
			if c.Rounded > 0 {
				differences += "; " + thousands(c.Rounded) + " where the judge rounds"
			}
			table += fmt.Sprintf("| `%s` | %s | %s | %s | %s | %s | %s |\n", name, c.Claim,
				strings.Join(by, ", "), strings.Join(versions, ", "), found.Date,
				thousands(c.Cases), differences)
		}
	}
	if judges == 0 {
		t.Fatal("no judges")
	}
	picture.Part(t, "docs/proofs.md", `\| judge \| claim \|.*\n(\|.*\n)*`, table)
	picture.Part(t, "README.md", `[\d,]+ cases by \d+ judges`,
		fmt.Sprintf("%s cases by %d judges", thousands(cases), judges))
}

// thousands writes 1234567 as 1,234,567.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for at := len(s) - 3; at > 0; at -= 3 {
		s = s[:at] + "," + s[at:]
	}
	return s
}
