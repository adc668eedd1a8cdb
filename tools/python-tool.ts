import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'

const CACHE_DIR = resolve(import.meta.dirname, '..', 'node_modules', '.cache')

/**
 * Returns the path of a Python command. If the command is missing, installs it into a separate folder that git ignores,
 * with the versions of `requirementsFile`. Throws an error that says what is missing. `python` is the interpreter that
 * runs the command; null means `python3` on the PATH. The installation itself always uses `python3` or its pip.
 */
export function installPythonTool(
  command: string,
  requirementsFile: string,
  python: string | null = null,
): string {
  const dir = join(CACHE_DIR, command)
  const requirements = readFileSync(requirementsFile, 'utf8')
  // The copy of the requirements is written last, so that an interrupted installation is repeated.
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
