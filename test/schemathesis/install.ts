import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const REQUIREMENTS = join(import.meta.dirname, 'requirements.txt')
const DIR = join(import.meta.dirname, '..', '..', 'node_modules', '.cache', 'schemathesis')
/** What DIR was made from: written last, so that an installation that was interrupted is made anew. */
const MADE_FROM = join(DIR, 'requirements.txt')

/** The command, installed where it is not yet. Throws, saying what is missing, where it can't be. */
export function installSchemathesis(): string {
  const requirements = readFileSync(REQUIREMENTS, 'utf8')
  const command = join(DIR, 'bin', 'schemathesis')
  if (existsSync(MADE_FROM) && readFileSync(MADE_FROM, 'utf8') === requirements) return command
  rmSync(DIR, { recursive: true, force: true })
  must('python3', ['-m', 'venv', DIR], 'Schemathesis needs python3 (3.10 or newer) with its module venv')
  const pip = [
    '-m',
    'pip',
    'install',
    '--quiet',
    '--disable-pip-version-check',
    '--requirement',
    REQUIREMENTS,
  ]
  must(join(DIR, 'bin', 'python'), pip, 'Schemathesis could not be installed')
  writeFileSync(MADE_FROM, requirements)
  return command
}

function must(file: string, args: string[], otherwise: string): void {
  const { status, error } = spawnSync(file, args, { stdio: 'inherit' })
  if (status !== 0) throw new Error(`${otherwise}${error ? `: ${error.message}` : ''}`)
}
