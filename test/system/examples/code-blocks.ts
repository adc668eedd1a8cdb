import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { temporaryDir } from '../../helpers/postgres.ts'
import { PROJECT_DIR } from '../deployment/installation.ts'

const run = promisify(execFile)
const TSC = join(PROJECT_DIR, 'node_modules', '.bin', 'tsc')

/** The TypeScript of some pages, each block a module, in a project that has what this one has installed. */
export type CodeBlocks = {
  readonly folder: string
  /** By page. */
  readonly files: Readonly<Record<string, readonly string[]>>
}

export function writeCodeBlocks(pages: readonly string[]): CodeBlocks {
  const folder = temporaryDir()
  symlinkSync(join(PROJECT_DIR, 'node_modules'), join(folder, 'node_modules'))
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({
      extends: join(PROJECT_DIR, 'tsconfig.json'),
      // A page may name what it only shows.
      compilerOptions: { noUnusedLocals: false, lib: ['es2024', 'dom', 'dom.asynciterable'] },
      include: ['*.ts'],
    }),
  )
  const files = Object.fromEntries(pages.map((page) => [page, writeBlocksOf(page, folder)]))
  return { folder, files }
}

function writeBlocksOf(page: string, folder: string): string[] {
  const text = readFileSync(join(PROJECT_DIR, page), 'utf8')
  return [...text.matchAll(/^```ts\n([\s\S]*?)^```/gm)].map(({ 1: code, index }) => {
    const line = text.slice(0, index).split('\n').length
    const file = join(folder, `${page.replaceAll('/', '-')}-line-${line}.ts`)
    // A module even where it imports nothing.
    writeFileSync(file, `${code}export {}\n`)
    return file
  })
}

/** Throws what the compiler says. */
export async function compile({ folder }: CodeBlocks): Promise<void> {
  await run(TSC, ['-p', folder]).catch(({ stdout }: { stdout: string }) => {
    throw new Error(`does not compile:\n${stdout}`)
  })
}

/** One after the other, in one process; throws what it says when one of them fails. */
export async function runAll(
  folder: string,
  files: readonly string[],
  env: Record<string, string>,
): Promise<void> {
  assert.ok(files.length > 0)
  const code = `for (const file of ${JSON.stringify(files)}) await import(file)`
  await run(process.execPath, ['--input-type=module', '--eval', code], { cwd: folder, env })
}
