import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { copyFileSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Tallystick } from '../../../sdk/client.ts'
import * as verify from '../../../sdk/verify/index.ts'
import { ROOT } from '../../../tools/bundle.ts'

const run = promisify(execFile)

/** The blocks `ts` of docs/guide.md, each a module, in a project that has the packages as a stranger installs them. */
export type Guide = {
  /** Throws what the compiler says. */
  compile(): Promise<void>
  /** Runs each in a process of its own; the ledger has what each does, and verifies. */
  run(ledger: Readonly<Record<string, string>>): Promise<void>
}

/** Values of `framework` by which a block's records are known. */
const FRAMEWORKS: Readonly<Record<string, string>> = {
  '@tallystick/openai-agents': 'openai-agents-js',
  '@tallystick/langchain': 'langchain-js',
  '@tallystick/ai-sdk': 'ai/',
}

export async function openGuide(folder: string, packages: readonly string[]): Promise<Guide> {
  const modules = join(folder, 'node_modules')
  mkdirSync(join(modules, '@tallystick'), { recursive: true })
  const given = {
    ...linksTo(join(ROOT, 'node_modules'), ['@noble', '@types']),
    ...linksTo(join(ROOT, 'adapters', 'node_modules')),
  }
  for (const [name, path] of Object.entries(given)) symlinkSync(path, join(modules, name))
  for (const file of packages) {
    const [, name] = /tallystick-([\w-]+?)-\d[^/]*\.tgz$/.exec(file)!
    const target = join(modules, '@tallystick', name!)
    mkdirSync(target)
    await run('tar', ['-xzf', file, '--strip-components=1', '-C', target])
  }
  copyFileSync(join(ROOT, 'adapters', 'test', 'models.ts'), join(folder, 'models.ts'))
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ extends: join(ROOT, 'tsconfig.json'), include: ['*.ts'] }),
  )
  const blocks = writeBlocks(folder)
  return {
    async compile() {
      const tsc = join(ROOT, 'node_modules', '.bin', 'tsc')
      await run(tsc, ['-p', folder]).catch(({ stdout }) => assert.fail(`does not compile:\n${stdout}`))
    },
    run: (ledger) => runBlocks(folder, blocks, ledger),
  }
}

function linksTo(folder: string, names = readdirSync(folder)): Record<string, string> {
  return Object.fromEntries(
    names.filter((name) => !name.startsWith('.')).map((name) => [name, join(folder, name)]),
  )
}

function writeBlocks(folder: string): string[] {
  const text = readFileSync(join(ROOT, 'docs', 'guide.md'), 'utf8')
  return [...text.matchAll(/^```ts\n([\s\S]*?)^```/gm)].map(([, code], i) => {
    const file = join(folder, `block-${i}.ts`)
    writeFileSync(file, code!)
    return file
  })
}

async function runBlocks(
  folder: string,
  blocks: readonly string[],
  ledger: Readonly<Record<string, string>>,
): Promise<void> {
  const { TALLYSTICK_URL: baseUrl = '', TALLYSTICK_API_KEY: apiKey = '' } = ledger
  const env = { PATH: process.env['PATH'], HOME: folder, TALLYSTICK_URL: baseUrl, TALLYSTICK_API_KEY: apiKey }
  const tallystick = new Tallystick({ baseUrl, apiKey })
  for (const file of blocks) {
    await run(process.execPath, [file], { cwd: folder, env, timeout: 60_000 })
    const code = readFileSync(file, 'utf8')
    const [, framework] = Object.entries(FRAMEWORKS).find(([name]) => code.includes(`'${name}'`)) ?? ['', '']
    const records = await tallystick.records.list({ type: 'agent-action/1' }).toArray(100)
    const isThere = records.some(({ payload }) => `${payload?.['framework'] ?? ''}`.startsWith(framework))
    assert.ok(isThere, `the ledger has no action of ${framework || 'the plain SDK'}`)
  }
  const text = await new Response(await tallystick.exports.stream()).text()
  const { records } = await verify.export(text)
  assert.ok(records >= blocks.length)
}
