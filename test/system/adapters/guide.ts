import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Tallystick } from '../../../sdk/client.ts'
import * as verify from '../../../sdk/verify/index.ts'
import { ADAPTERS } from '../../../tools/build-adapters.ts'
import { ROOT, readManifest } from '../../../tools/bundle.ts'
import { shellBlocks } from '../docs/shell-blocks.ts'

const run = promisify(execFile)
const BLOCK_MS_MAX = 60_000

type Peers = { readonly peerDependencies: Readonly<Record<string, string>> }

/** Returns the blocks of docs/start/guide.md: the install lines, and the programs, each with the line that runs it. */
export function readGuide(): { readonly installs: readonly string[]; readonly programs: readonly string[] } {
  const blocks = shellBlocks('docs/start/guide.md')
  return {
    installs: blocks.filter((block) => block.startsWith('npm install ')),
    programs: blocks.filter((block) => block.startsWith('cat > ')),
  }
}

/**
 * Throws if an adapter has no install line in the guide. Also throws if the line lacks the SDK or a peer dependency in
 * its supported major version.
 */
export function checkInstalls(installs: readonly string[]): void {
  for (const name of ADAPTERS) {
    const line = installs.find((install) => install.includes(`tallystick-${name}-`))
    assert.ok(line, `the guide has no install line for ${name}`)
    assert.match(line, /\$DIST\/tallystick-sdk-\d/)
    const { peerDependencies } = readManifest<Peers>(join(ROOT, 'adapters', name))
    for (const [peer, range] of Object.entries(peerDependencies)) {
      const [, major] = /(\d+)\./.exec(range)!
      assert.ok(line.split(/\s+/).includes(`${peer}@${major}`), `${line} does not install ${peer}@${major}`)
    }
  }
}

export async function makeProject(folder: string, packed: readonly string[]): Promise<void> {
  const modules = join(folder, 'node_modules')
  mkdirSync(join(modules, '@tallystick'), { recursive: true })
  const given = {
    ...linksTo(join(ROOT, 'node_modules'), ['@noble']),
    ...linksTo(join(ROOT, 'adapters', 'node_modules')),
  }
  for (const [name, path] of Object.entries(given)) symlinkSync(path, join(modules, name))
  for (const file of packed) {
    const [, name] = /tallystick-([\w-]+?)-\d[^/]*\.tgz$/.exec(file)!
    const target = join(modules, '@tallystick', name!)
    mkdirSync(target)
    await run('tar', ['-xzf', file, '--strip-components=1', '-C', target])
  }
}

function linksTo(folder: string, names = readdirSync(folder)): Record<string, string> {
  return Object.fromEntries(
    names.filter((name) => !name.startsWith('.')).map((name) => [name, join(folder, name)]),
  )
}

/**
 * Runs each program in the folder. Each program must print its records, and the last program also its status. The
 * ledger must contain the records and verify.
 */
export async function pastePrograms(
  folder: string,
  programs: readonly string[],
  ledger: Readonly<Record<string, string>>,
): Promise<void> {
  const { TALLYSTICK_URL: baseUrl = '', TALLYSTICK_API_KEY: apiKey = '' } = ledger
  const env = { PATH: process.env['PATH'], HOME: folder, TALLYSTICK_URL: baseUrl, TALLYSTICK_API_KEY: apiKey }
  const tallystick = new Tallystick({ baseUrl, apiKey })
  for (const program of programs) {
    const before = new Set(await idsOf(tallystick))
    const [name] = program.split('\n')
    const { stdout } = await run('bash', ['--norc', '-euc', program], {
      cwd: folder,
      env,
      timeout: BLOCK_MS_MAX,
    })
    const printed = stdout.match(/^rec_\w+(?= agent-)/gm) ?? []
    const made = (await idsOf(tallystick)).filter((id) => !before.has(id))
    assert.ok(made.length >= 2, name)
    assert.deepEqual([...printed].sort(), [...made].sort(), name)
    assert.match(stdout, / agent-outcome\/1 .* ok\n$/, name)
  }
  const text = await new Response(await tallystick.exports.stream()).text()
  await verify.export(text)
}

async function idsOf(tallystick: Tallystick): Promise<string[]> {
  return (await tallystick.records.list().toArray(100)).map(({ id }) => id)
}
