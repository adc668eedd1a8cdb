import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'

const CACHE_DIR = resolve(import.meta.dirname, '..', 'node_modules', '.cache')

/**
 * The path of a command of Python, installed where it is not yet, into a folder of its own that git does not see, from the versions that
 * the file pins. Throws, saying what is missing, where it can't be. `python`: the interpreter that runs it, where that is another one than
 * the one on the path, which installs it.
 */
export function installPythonTool(
  command: string,
  requirementsFile: string,
  python: string | null = null,
): string {
  const dir = join(CACHE_DIR, command)
  const requirements = readFileSync(requirementsFile, 'utf8')
  // Written last, so that an installation that was interrupted is made anew.
  const madeFrom = join(dir, basename(requirementsFile))
  const path = join(dir, 'bin', command)
  if (existsSync(madeFrom) && readFileSync(madeFrom, 'utf8') === requirements) return path
  rmSync(dir, { recursive: true, force: true })
  const venv = ['-m', 'venv', ...(python === null ? [] : ['--without-pip']), dir]
  must(python ?? 'python3', venv, `${command} needs python3 (3.11 or newer) with its module venv`)
  const own = join(dir, 'bin', 'python')
  const pip = ['-m', 'pip', ...(python === null ? [] : ['--python', own])]
  must(
    python === null ? own : 'python3',
    [...pip, 'install', '--quiet', '--disable-pip-version-check', '--requirement', requirementsFile],
    `${command} could not be installed`,
  )
  writeFileSync(madeFrom, requirements)
  return path
}

function must(file: string, args: string[], otherwise: string): void {
  const { status, error } = spawnSync(file, args, { stdio: 'inherit' })
  if (status !== 0) throw new Error(`${otherwise}${error ? `: ${error.message}` : ''}`)
}
