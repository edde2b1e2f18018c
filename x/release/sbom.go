package main

// The SBOM in SPDX 2.3: of each binary the modules that Go has linked into it.

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"time"
)

type object = map[string]any

// spdxPackage describes a package. What is linked has no files of its own to look at.
func spdxPackage(id, name, version, license string) object {
	return object{"SPDXID": id, "name": name, "versionInfo": version, "licenseDeclared": license,
		"licenseConcluded": license, "copyrightText": "NOASSERTION", "filesAnalyzed": false,
		"downloadLocation": "NOASSERTION"}
}

func (r *release) sbom(all []*target) error {
	packages, relations := map[string]object{}, []object{}
	relate := func(from, kind, to string) {
		relations = append(relations, object{"spdxElementId": from, "relationshipType": kind,
			"relatedSpdxElement": to})
	}
	main := &debug.Module{Version: r.version} // Go calls it (devel), before it has a tag
	linked := func(m *debug.Module) (string, error) {
		id := "SPDXRef-" + notWord.ReplaceAllString(m.Path+"-"+m.Version, "-")
		if packages[id] != nil {
			return id, nil
		}
		of := m.Path
		if m == main {
			of = "picogpt," // whatever its address is
		}
		license, err := spdxLicense(all[0].files["LICENSES"], of)
		packages[id] = spdxPackage(id, m.Path, m.Version, license)
		packages[id]["externalRefs"] = []object{{"referenceCategory": "PACKAGE-MANAGER",
			"referenceType": "purl", "referenceLocator": "pkg:golang/" + m.Path + "@" + m.Version}}
		return id, err
	}
	for _, t := range all {
		info, err := buildinfo.Read(bytes.NewReader(t.gpt()))
		if err != nil {
			return err
		}
		binary := "SPDXRef-" + notWord.ReplaceAllString(t.name, "-")
		p := spdxPackage(binary, t.name, r.version, "MIT")
		p["primaryPackagePurpose"], p["checksums"] = "APPLICATION", []object{{
			"algorithm": "SHA256", "checksumValue": fmt.Sprintf("%x", sha256.Sum256(t.gpt())),
		}}
		packages[binary] = p
		relate("SPDXRef-DOCUMENT", "DESCRIBES", binary)
		main.Path = info.Main.Path
		library := debug.Module{Path: "stdlib", Version: info.GoVersion[len("go"):]}
		for _, m := range append([]*debug.Module{main, &library}, info.Deps...) {
			id, err := linked(m)
			if err != nil {
				return err
			}
			relate(binary, "DEPENDS_ON", id)
		}
	}
	ids := slices.Sorted(maps.Keys(packages))
	sorted := make([]object, len(ids))
	for i, id := range ids {
		sorted[i] = packages[id]
	}
	b, err := json.MarshalIndent(object{
		"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
		"name": "gpt-" + r.version, "documentNamespace": r.base() + "/sbom",
		"creationInfo": object{"created": r.time.Format(time.RFC3339), "creators": []string{"Tool: picogpt"}},
		"packages":     sorted, "relationships": relations,
	}, "", "  ")
	if err != nil {
		return err
	}
	return r.write("gpt-"+r.version+".spdx.json", append(b, '\n'))
}
