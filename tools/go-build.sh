# Sourced by the scripts beside a go.mod: builds commands of the modules pinned there into a cache folder outside the checkout.

say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }

# cache_folder NAME prints the folder for binaries of that name and version.
cache_folder() {
  local folder=${XDG_CACHE_HOME:-$HOME/.cache}/routedip-operator/$1
  mkdir -p "$folder"
  echo "$folder"
}

# build FOLDER NAME PACKAGE [FLAG...] builds PACKAGE of the module in the current folder as FOLDER/NAME, unless it was built from the same module with the
# same flags before. FLAGs are those of go build.
build() {
  local folder=$1 name=$2 package=$3
  shift 3
  local wanted
  wanted=$(cat go.mod go.sum ./*.go 2>/dev/null | sha256sum; printf '%s ' "$package" "$@")
  (
    # Two that want the same binary do not build it twice.
    exec 9>"$folder/.$name.lock"
    flock 9
    [ -x "$folder/$name" ] && [ "$(cat "$folder/.$name.from" 2>/dev/null)" = "$wanted" ] && exit
    command -v go >/dev/null || { say "Go is needed to build $name"; exit 1; }
    say "building $name"
    CGO_ENABLED=0 nice -n 5 go build -p 2 -mod=readonly -trimpath "$@" -o "$folder/$name.new" "$package" >&2
    mv "$folder/$name.new" "$folder/$name"
    printf '%s' "$wanted" >"$folder/.$name.from"
  )
}
