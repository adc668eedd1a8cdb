import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { glob, mkdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { npm } from '../../../tools/pack.ts'

export type Project = {
  readonly dir: string
  /** Names of all installed packages, including the package itself. */
  readonly packages: readonly string[]
}

export async function installIn(
  dir: string,
  packed: string,
  flags: readonly string[] = [],
): Promise<Project> {
  await mkdir(dir)
  await writeFile(join(dir, 'package.json'), '{ "private": true, "type": "module" }\n')
  await npm(['install', '--no-audit', '--no-fund', ...flags, packed], dir)
  const lock = JSON.parse(readFileSync(join(dir, 'node_modules', '.package-lock.json'), 'utf8')) as {
    packages: Record<string, unknown>
  }
  const packages = Object.keys(lock.packages).map((path) => path.replace(/^.*node_modules\//, ''))
  return { dir, packages: packages.sort() }
}

export async function bytesIn(dir: string): Promise<number> {
  let bytes = 0
  for await (const entry of glob('**/*', { cwd: dir, withFileTypes: true }))
    if (entry.isFile()) bytes += (await stat(join(entry.parentPath, entry.name))).size
  return bytes
}

export type Ended = { readonly code: number; readonly stdout: string; readonly stderr: string }

const PROGRAM_MS_MAX = 60_000

type Surroundings = {
  readonly cwd: string
  readonly env?: Readonly<Record<string, string>>
  readonly input?: string
}

/** Runs a program to its end. Of the caller's environment the program gets only PATH. */
export function runProgram(
  file: string,
  args: readonly string[],
  { cwd, env = {}, input = '' }: Surroundings,
): Promise<Ended> {
  const options = { cwd, timeout: PROGRAM_MS_MAX, env: { PATH: process.env['PATH'], HOME: cwd, ...env } }
  return new Promise((resolve) => {
    const child = execFile(file, args, options, (error, stdout, stderr) => {
      const failed = error ? error.message : ''
      resolve({ code: child.exitCode ?? 1, stdout, stderr: stderr || failed })
    })
    child.stdin!.end(input)
  })
}
