import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { temporaryDir } from '../../helpers/postgres.ts'
import { PROJECT_DIR } from '../deployment/installation.ts'

const run = promisify(execFile)
const TSC = join(PROJECT_DIR, 'node_modules', '.bin', 'tsc')

/**
 * A project with the TypeScript blocks of some pages, each as a module. It uses the installed packages of this
 * project.
 */
export type CodeBlocks = {
  readonly folder: string
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
      // A page may declare a name that it does not use.
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
    // The export makes the file a module, even if it imports nothing.
    writeFileSync(file, `${code}export {}\n`)
    return file
  })
}

export async function compile({ folder }: CodeBlocks): Promise<void> {
  await run(TSC, ['-p', folder]).catch(({ stdout }: { stdout: string }) => {
    throw new Error(`does not compile:\n${stdout}`)
  })
}

/** Imports the files one after the other in one process. Throws with the output if a file fails. */
export async function runAll(
  folder: string,
  files: readonly string[],
  env: Record<string, string>,
): Promise<void> {
  assert.ok(files.length > 0)
  const code = `for (const file of ${JSON.stringify(files)}) await import(file)`
  await run(process.execPath, ['--input-type=module', '--eval', code], { cwd: folder, env })
}
