# shellcheck shell=sh
# Sourced by apps/quickstart and tests/run: installs distribution packages that are missing.
#
#   need_packages NAME…     installs with apt-get, as root or through sudo; elsewhere says what is needed
#   want_packages NAME…     the same for what is only useful: a failure is said and is none
#   have_package NAME       true if it is installed

have_package() {
  dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep -q '^install ok installed$'
}

need_packages() {
  if ! command -v apt-get >/dev/null 2>&1; then
    echo "This is neither Debian nor Ubuntu: make sure that what these packages hold is installed:" >&2
    echo "  $*" >&2
    return 0
  fi
  _missing=""
  for _package in "$@"; do
    have_package "$_package" || _missing="$_missing $_package"
  done
  [ -n "$_missing" ] || return 0
  if [ "$(id -u)" = 0 ]; then
    _as_root="env"
  elif command -v sudo >/dev/null 2>&1; then
    _as_root="sudo env"
  else
    echo "These packages are missing; install them as root:$_missing" >&2
    return 1
  fi
  echo "== installing$_missing"
  # shellcheck disable=SC2086  # words on purpose
  $_as_root DEBIAN_FRONTEND=noninteractive apt-get -qq update &&
    $_as_root DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends $_missing >/dev/null
}

want_packages() {
  need_packages "$@" || echo "could not install $*: some tests skip" >&2
}
