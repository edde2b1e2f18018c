class Gpt < Formula
  desc "{{.Summary}}"
  homepage "{{.Home}}"
  version "{{.Number}}"
  license "MIT"

  on_macos do
{{- with index .Sums "darwin/arm64"}}
    on_arm do
      url "{{$.Base}}/gpt-{{$.Version}}-darwin-arm64.tar.gz"
      sha256 "{{.}}"
    end
{{- end}}
{{- with index .Sums "darwin/amd64"}}
    on_intel do
      url "{{$.Base}}/gpt-{{$.Version}}-darwin-amd64.tar.gz"
      sha256 "{{.}}"
    end
{{- end}}
  end

  on_linux do
{{- with index .Sums "linux/arm64"}}
    on_arm do
      url "{{$.Base}}/gpt-{{$.Version}}-linux-arm64.tar.gz"
      sha256 "{{.}}"
    end
{{- end}}
{{- with index .Sums "linux/amd64"}}
    on_intel do
      url "{{$.Base}}/gpt-{{$.Version}}-linux-amd64.tar.gz"
      sha256 "{{.}}"
    end
{{- end}}
  end

  def install
    bin.install "gpt"
    man1.install Dir["man/man1/*.1"]
    bash_completion.install "completions/gpt.bash" => "gpt"
    zsh_completion.install "completions/gpt.zsh" => "_gpt"
    fish_completion.install "completions/gpt.fish"
  end

  test do
    assert_match "gpt v#{version}", shell_output("#{bin}/gpt version")
  end
end
