import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { onClose } from '../run-bench.ts'

/** Folder of this tree. */
export const ROOT = resolve(import.meta.dirname, '..', '..')

/** Makes a temporary folder that is removed when the benchmark ends. */
export function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tallystick-compare-'))
  onClose(async () => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Returns the short hash of a revision. Throws if there is no such revision. */
export function findCommit(revision: string): string {
  try {
    return git('rev-parse', '--verify', '--quiet', '--short=12', '--end-of-options', `${revision}^{commit}`)
  } catch {
    throw new Error(`git knows no commit ${revision}`)
  }
}

/**
 * Makes a work tree of a commit in `folder`, and returns its path. The tree is removed when the benchmark ends. If its
 * lock file equals this tree's lock file, the tree gets links to this tree's packages. Otherwise its first run installs
 * packages.
 */
export function makeWorkTree(commit: string, folder: string): string {
  const tree = join(folder, 'tree')
  onClose(async () => {
    // Forced twice, because an interrupted `worktree add` leaves its tree locked.
    if (existsSync(tree)) git('worktree', 'remove', '--force', '--force', tree)
  })
  git('worktree', 'add', '--quiet', '--detach', tree, commit)
  const lockOf = (root: string) => readFileSync(join(root, 'package-lock.json'), 'utf8')
  if (lockOf(tree) === lockOf(ROOT)) linkPackages(tree)
  return tree
}

/**
 * Copies node_modules as hard links. A symbolic link to node_modules would not work: it contains relative links to the
 * packages of the workspace, and these would lead to this tree.
 */
function linkPackages(tree: string): void {
  const packages = join(tree, 'node_modules')
  try {
    execFileSync('cp', ['-al', join(ROOT, 'node_modules'), packages], { stdio: 'ignore' })
  } catch {
    // Another file system, or a `cp` without links. The first run installs the packages.
    rmSync(packages, { recursive: true, force: true })
  }
}

function git(...args: string[]): string {
  return execFileSync('git', args, {
    cwd: ROOT,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  }).trim()
}
