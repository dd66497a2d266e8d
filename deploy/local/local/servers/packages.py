"""Installs or unpacks programs that no Python wheel contains, from packages of the system.

A package that a stack needs is installed with apt, where that is allowed. The service in it is not started. A package
that only tests need is unpacked into a folder of ours instead.
"""

import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from local.processes.table import NotReady

#: A package starts its service when installed, unless a policy says no; one that is there is respected. Whoever else of
#: us installs something meanwhile is waited for (tests run on two processes), and so is another apt.
INSTALL = """
exec 9>/var/lock/posthaste-packages
flock 9
policy=/usr/sbin/policy-rc.d
[ -e $policy ] || { printf '#!/bin/sh\\nexit 101\\n' >$policy; chmod 755 $policy; trap 'rm $policy' EXIT; }
export DEBIAN_FRONTEND=noninteractive
apt-get update -q
apt-get install -y -q -o DPkg::Lock::Timeout=120 --no-install-recommends "$@"
"""

#: $1: the package, $2: where its files go, whole or not at all, $3: what becomes root, for the lists of a new machine,
#: $4: another release than this machine's, from the same repository and with lists of its own; or nothing.
UNPACK = """
set -e
mkdir -p "$(dirname "$2")"
exec 9>"$2.lock"
flock 9
[ ! -e "$2" ] || exit 0
made=$(mktemp -d "$2.XXXXXX")
trap 'rm -rf "$made"' EXIT
cd "$made"
if [ -z "$4" ]; then
  apt-get download -q "$1" || { $3 apt-get update -q && apt-get download -q "$1"; }
else
  of_debian() { apt-get indextargets --format '$(REPO_URI)' 'Origin: Debian' 'Component: main' | grep -v security; }
  [ -n "$(of_debian)" ] || $3 apt-get update -q
  mkdir -p lists/partial cache/archives/partial
  keys=/usr/share/keyrings/debian-archive-keyring.gpg
  echo "deb [signed-by=$keys] $(of_debian | head -n 1) $4 main" >sources
  cat >conf <<END
Dir::Etc::sourcelist "$made/sources"; Dir::Etc::sourceparts "/dev/null";
Dir::State::lists "$made/lists"; Dir::Cache "$made/cache"; APT::Sandbox::User "$(id -un)";
END
  export APT_CONFIG="$made/conf"
  apt-get update -q
  apt-get download -q "$1"
fi
dpkg -x ./*.deb files
mv files "$2"
"""


def install(
    packages: Sequence[str], is_there: Callable[[], object], missing: str, tell: Callable[[str], None]
) -> None:
    """Installs system packages with apt unless `is_there` returns a true value. Raises NotReady, with the text
    `missing` and apt's output, if that fails or is not allowed.
    """
    if is_there():
        return
    become = [] if os.geteuid() == 0 else ["sudo", "-n"]
    if shutil.which("apt-get") is None or subprocess.run([*become, "true"], capture_output=True).returncode:
        raise NotReady(missing)
    tell(f"installing {' and '.join(packages)} with apt (once; about a minute)")
    done = subprocess.run(
        [*become, "sh", "-c", INSTALL, "sh", *packages],
        stdin=subprocess.DEVNULL, capture_output=True, text=True,
    )  # fmt: skip
    if not is_there():
        raise NotReady(f"{done.stdout[-2000:]}{done.stderr[-2000:]}\n{missing}")


def unpack(package: str, folder: Path, missing: str, tell: Callable[[str], None], release: str = "") -> None:
    """Downloads a system package and unpacks it into `folder`, unless that was done before. Does not install it.

    `release`: the release of Debian that the package comes from; empty for the release of this machine. `tell` gets
    lines about progress. Raises NotReady, with the text `missing` and apt's output, if that fails.
    """
    if folder.exists():
        return
    if shutil.which("apt-get") is None:
        raise NotReady(missing)
    tell(f"unpacking {package} (once)")
    become = "" if os.geteuid() == 0 else "sudo -n"
    done = subprocess.run(
        ["sh", "-c", UNPACK, "sh", package, str(folder), become, release],
        stdin=subprocess.DEVNULL, capture_output=True, text=True,
    )  # fmt: skip
    if not folder.exists():
        raise NotReady(f"{done.stdout[-2000:]}{done.stderr[-2000:]}\n{missing}")
