"""The shell scripts behind the tools, in POSIX sh. They run in the sandbox. Texts go in as arguments or on standard
input, never into a script."""

from __future__ import annotations

ORIGIN = """
branch=$(git symbolic-ref --short HEAD 2>/dev/null) ||
    { echo "No branch is checked out: use git_branch first."; exit 1; }
url=$(git config --get remote.origin.url) ||
    { echo "The repository has no remote called origin: add one first."; exit 1; }
"""
ORIGIN_URL = ORIGIN + 'printf %s "$url"'
PUSH_PLAN = (
    ORIGIN
    + r"""
url=$(git config --get remote.origin.pushurl || printf %s "$url")
commit=$(git rev-parse --verify -q "HEAD^{commit}") ||
    { echo "There are no commits yet: use git_commit first."; exit 1; }
if base=$(git rev-parse -q --verify "refs/remotes/origin/$branch^{commit}"); then
    git merge-base --is-ancestor "$base" "$commit" ||
        { echo "origin has commits on $branch that are not in this branch: it must contain them first."; exit 1; }
fi
printf '%s\n' "$url" "$branch" "$base" "$commit"
if [ -n "$base" ]; then
    git rev-list "$base..$commit"
    others=$(git rev-list --boundary "$base..$commit" | sed -n 's/^-//p' | grep -v "$base")
    if [ -n "$others" ]; then
        oldest=$(git merge-base --octopus "$base" $others)
        git rev-list "$base" ${oldest:+--not "$oldest^@"}
    fi
else
    git rev-list --max-count="$1" "$commit"
fi | git cat-file --batch | base64 -w 0
"""
)
"""Prints the remote's address, the branch, and its commit there (as far as known) and here; then, in base64, the
commits to push, and those that show that commits which were merged are on the server's branch. Of a new branch, only
the newest `$1`."""
COMMIT = """
if [ $# -gt 0 ]; then git add -A -- "$@"; else git add -A; fi || exit
if git rev-parse -q --verify CHERRY_PICK_HEAD >/dev/null; then set --; fi
if git rev-parse -q --verify MERGE_HEAD >/dev/null; then set --
elif git diff --cached --quiet -- "$@"; then echo "There is nothing to commit: no file has changed."; exit 1; fi
git commit --quiet --cleanup=strip -F - ${1+--only} -- "$@" &&
    git log -1 --stat --format="Committed %h on the branch $(git branch --show-current): %s"
"""
"""A merge or a picked commit is committed as a whole: git refuses to commit a part of it."""
STATUS = """
printf "Repository: %s\\n" "$(git rev-parse --show-toplevel)"
git status --branch --short --untracked-files=all
"""
DIFF = """
if [ -n "$1" ]; then
    revision=$1; shift
    git show --no-ext-diff --no-textconv --stat --patch --end-of-options "$revision" -- "$@"
else
    shift
    base=HEAD; git rev-parse -q --verify HEAD >/dev/null || base=$(git hash-object -t tree /dev/null)
    git diff --no-ext-diff --no-textconv --stat --patch "$base" -- "$@"
    git status --short --untracked-files=all -- "$@" | sed -n 's/^??/New file, not shown here:/p'
fi
"""
LOG = """
git rev-parse -q --verify HEAD >/dev/null || exit 0
git log --max-count="$1" --no-show-signature --date=format:'%Y-%m-%d %H:%M' --format='%h %ad %an: %s%d' -- ${2:+"$2"}
"""
BRANCHES = "git branch --all --verbose --no-color"
SWITCH = """
git check-ref-format --branch "$1" >/dev/null 2>&1 || { echo "This is no name for a branch."; exit 1; }
if git rev-parse -q --verify "refs/heads/$1" >/dev/null || git rev-parse -q --verify "refs/remotes/origin/$1" >/dev/null
then git switch --quiet "$1"; else git switch --quiet -c "$1"; fi && git status --branch --short
"""
CLONE = """
refuse() { echo "$2 exists already: choose another folder, or use git_pull there."; exit 1; }
[ ! -e "$2" ] && [ ! -L "$2" ] || refuse "$@"
find . -maxdepth 1 -name '.git-clone-*' -mmin +120 -exec rm -rf -- {} + 2>/dev/null
git clone --quiet --no-recurse-submodules ${4:+--depth "$4"} -- "$1" "$3" || exit
mkdir -p -- "$(dirname -- "$2")" && mv -T -- "$3" "$2" || { rm -rf -- "$3"; refuse "$@"; }
cd -- "$2" && git log -1 --format="Cloned into the folder $2. The newest commit: %h %s" 2>/dev/null ||
    echo "Cloned into the folder $2. It has no commits yet."
"""
"""Clones `$1` into the new folder `$3`, which becomes `$2` once it is complete. Those of killed clones are deleted."""
REMOVE = 'rm -rf -- "$1"'
PULL = (
    ORIGIN
    + """
old=$(git rev-parse -q --verify HEAD)
git pull --quiet --ff-only --no-rebase origin "$branch" || exit
if [ "$old" = "$(git rev-parse HEAD)" ]; then
    echo "Up to date: there is nothing new on $branch."
elif [ -n "$old" ]; then
    git log --max-count=20 --format='%h %an: %s' "$old..HEAD" --
    git diff --no-ext-diff --stat "$old" HEAD --
else
    git log --max-count=20 --format='%h %an: %s'
fi
"""
)
PUSH = """
git rev-parse -q --verify "@{upstream}" >/dev/null 2>&1 && upstream= || upstream=-u
git push $upstream origin "refs/heads/$1:refs/heads/$1"
"""
