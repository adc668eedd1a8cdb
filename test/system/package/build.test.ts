import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import {
  cpSync,
  existsSync,
  globSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { after, before, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import type { PackedCli } from '../../../tools/build-cli.ts'
import type { SdkManifest } from '../../../tools/build-sdk.ts'
import { LOWEST_NODE, ROOT, readManifest, replaceFolder } from '../../../tools/bundle.ts'
import { npm, type PackageName, stagePackage } from '../../../tools/pack.ts'
import { bareEnvironment } from '../../helpers/bare-environment.ts'
import { temporaryFiles } from '../../helpers/temporary-files.ts'
import { makeChain } from '../../helpers/test-chain.ts'
import { CLIENT_GZIP_BYTES_MAX } from '../browser/bundle.ts'

/* Checks the packages without installing them. `npm run drill -- package` installs them on every runtime. */

const run = promisify(execFile)
const ENDS_MS_MAX = 20_000
const stages = mkdtempSync(join(tmpdir(), 'tallystick-build-'))
const stageOf = (name: PackageName) => join(stages, name)
before(async () => {
  await Promise.all((['sdk', 'cli'] as const).map((name) => stagePackage(name, stageOf(name))))
  symlinkSync(join(ROOT, 'node_modules'), join(stageOf('sdk'), 'node_modules'))
})
after(() => rmSync(stages, { recursive: true }))

test('each entry point of the SDK exists, and every file that its modules and types import', () => {
  const files = entriesOfSdk().flatMap((entry) => [entry.default, entry.types])
  assert.equal(files.length, 12)
  assert.deepEqual(
    files.filter((entry) => !existsSync(join(stageOf('sdk'), entry))),
    [],
  )
  const missing = modulesIn(stageOf('sdk')).flatMap((file) =>
    specifiersOf(file)
      .filter((specifier) => specifier.startsWith('.'))
      // The types of a module are beside the module.
      .map((specifier) =>
        join(dirname(file), file.endsWith('.d.ts') ? specifier.replace(/\.js$/, '.d.ts') : specifier),
      )
      .filter((target) => !existsSync(target)),
  )
  assert.deepEqual(missing, [])
})

test('the SDK imports only its two dependencies, and Node only in the spool', () => {
  for (const entry of entriesOfSdk()) {
    for (const file of [entry.default, entry.types]) {
      const allowed = file.endsWith('/spool.js') ? /^(@noble\/|node:)/ : /^@noble\//
      const packages = packagesFrom(join(stageOf('sdk'), file))
      const others = packages.filter((name) => !allowed.test(name))
      assert.deepEqual(others, [], file)
    }
  }
})

test('the built SDK can be imported, and throws UsageError for a bad URL', async () => {
  const entry = join(stageOf('sdk'), 'dist', 'index.js')
  const { Tallystick, UsageError } = await import(pathToFileURL(entry).href)
  assert.throws(() => new Tallystick({ apiKey: 'tly_1', baseUrl: 'nowhere' }), UsageError)
})

test('importing the SDK has no side effects, so that bundlers can drop unused code', async () => {
  const entries = entriesOfSdk().map((entry) => pathToFileURL(join(stageOf('sdk'), entry.default)).href)
  const program = `
    const state = () => JSON.stringify([Object.getOwnPropertyNames(globalThis), process.eventNames().map(String)])
    const before = state()
    for (const entry of ${JSON.stringify(entries)}) await import(entry)
    if (state() !== before) throw new Error(state())`
  // The program must end by itself, because no timer or socket may be left.
  const { stderr } = await run(process.execPath, ['--input-type=module', '--eval', program], {
    timeout: ENDS_MS_MAX,
  })
  assert.equal(stderr, '')
})

test('an application that imports one part of the SDK bundles little more than that part', async () => {
  const gzipBytes = async (name: string) => {
    const { outputFiles } = await build({
      stdin: { contents: `export { ${name} } from './dist/index.js'`, resolveDir: stageOf('sdk') },
      bundle: true,
      minify: true,
      format: 'esm',
      platform: 'browser',
      write: false,
    })
    return gzipSync(outputFiles[0]!.contents).length
  }
  assert.ok((await gzipBytes('UsageError')) < 1024)
  assert.ok((await gzipBytes('Tallystick')) < CLIENT_GZIP_BYTES_MAX)
  assert.ok((await gzipBytes('verify')) > 30_000)
  assert.ok((await gzipBytes('webhooks')) < 16_000)
})

test('the packages use no API newer than Node 20', () => {
  const newer =
    /URL\.parse\(|\b(Map|Object)\.groupBy\(|Promise\.(withResolvers|try)\(|Array\.fromAsync\(|RegExp\.escape\(|Error\.isError\(|\.(toBase64|toHex|setFromBase64|setFromHex)\(\)|Uint8Array\.from(Base64|Hex)\(|import\.meta\.main/
  const found = (['sdk', 'cli'] as const)
    .flatMap((name) => modulesIn(stageOf(name)))
    .map((file) => [relative(stages, file), newer.exec(readFileSync(file, 'utf8'))?.[0]])
    .filter(([, text]) => text !== undefined)
  assert.deepEqual(found, [])
})

test('the packages contain built files, README and the licences of all code, nothing else', async () => {
  for (const name of ['sdk', 'cli'] as const) {
    const [packed] = JSON.parse(await npm(['pack', '--dry-run', '--json'], stageOf(name)))
    const paths = packed.files.map((file: { path: string }) => file.path) as string[]
    const others = paths.filter((path) => !/^dist\/.+\.(js|d\.ts)$/.test(path)).sort()
    // The hook is a separate file. An agent waits for each start of the hook, and a single file starts faster.
    const hook = name === 'cli' ? ['dist/hook.cjs'] : []
    assert.deepEqual(others, ['LICENSE', 'README.md', 'dist/LICENSES.md', ...hook, 'package.json'], name)
    assert.match(readFileSync(join(stageOf(name), 'dist', 'LICENSES.md'), 'utf8'), /^# cborg 6\.\d+\.\d+$/m)
  }
})

test('the command line package names exactly the packages it imports, at the tested versions', () => {
  const { bin, dependencies, optionalDependencies, ...manifest } = readManifest<PackedCli>(stageOf('cli'))
  assert.deepEqual(bin, { tallystick: 'dist/tallystick.js' })
  assert.equal(manifest.private, undefined)
  const named = { ...dependencies, ...optionalDependencies }
  const imported = modulesIn(stageOf('cli'))
    .flatMap(specifiersOf)
    .filter((specifier) => !/^(\.|node:)/.test(specifier))
  assert.deepEqual(Object.keys(named).sort(), [...new Set(imported)].sort())
  assert.deepEqual(Object.keys(optionalDependencies), ['@aws-sdk/client-s3', 'sodium-native'])
  for (const [name, version] of Object.entries(named))
    assert.equal(version, readManifest(join('node_modules', name)).version)
})

test('the built command line verifies on threads without any other package installed', async (t) => {
  const chain = makeChain()
  chain.notarize()
  chain.notarizeBatch(2)
  const ledger = temporaryFiles(t).write('ledger.ndjson', `${chain.exportLines().join('\n')}\n`)
  const command = [join(stageOf('cli'), 'dist', 'tallystick.js'), 'verify', ledger, '--threads', '2']
  const { stdout, stderr } = await run(process.execPath, command, { env: bareEnvironment() })
  assert.match(stdout, /^INTEGRITY_OK entries=5 records=3 /)
  assert.match(stderr, /^.*libsodium cannot be loaded here/)
})

test('each module of the built command line can be loaded', async (t) => {
  const { directory } = temporaryFiles(t)
  cpSync(join(stageOf('cli'), 'dist'), directory, { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(directory, 'node_modules'))
  writeFileSync(join(directory, 'package.json'), '{"type":"module"}')
  // These two programs run when they are loaded, so they are left out.
  const programs = ['tallystick.js', 'entry-worker.js']
  const urls = globSync('*.{js,cjs}', { cwd: directory })
    .filter((name) => !programs.includes(name))
    .map((name) => pathToFileURL(join(directory, name)).href)
  assert.ok(urls.length > 50)
  const program = `for (const url of ${JSON.stringify(urls)}) await import(url)`
  const { stderr } = await run(process.execPath, ['--input-type=module', '--eval', program], {
    timeout: ENDS_MS_MAX,
  })
  assert.equal(stderr, '')
})

test('both packages require the lowest supported Node', () => {
  for (const name of ['sdk', 'cli'] as const)
    assert.deepEqual(readManifest<{ engines: object }>(stageOf(name)).engines, {
      node: `>=${LOWEST_NODE}`,
    })
})

test('a failed build keeps the old output, and of two builds at once one output remains', async (t) => {
  const folder = join(temporaryFiles(t).directory, 'dist')
  const make = (text: string) => async (beside: string) => {
    await mkdir(beside)
    await writeFile(join(beside, 'file'), text)
  }
  await replaceFolder(folder, make('first'))
  await assert.rejects(
    replaceFolder(folder, async (beside) => {
      await make('half')(beside)
      throw new Error('on purpose')
    }),
  )
  assert.equal(readFileSync(join(folder, 'file'), 'utf8'), 'first')
  await Promise.all(['second', 'third'].map((text) => replaceFolder(folder, make(text))))
  assert.match(readFileSync(join(folder, 'file'), 'utf8'), /^(second|third)$/)
  assert.deepEqual(globSync('*', { cwd: dirname(folder) }), ['dist'])
})

function entriesOfSdk() {
  const { exports } = readManifest<SdkManifest>(stageOf('sdk'))
  return Object.values(exports).filter((entry) => typeof entry !== 'string')
}

function modulesIn(folder: string): string[] {
  return globSync('dist/**/*.{js,d.ts}', { cwd: folder }).map((path) => join(folder, path))
}

function specifiersOf(file: string): string[] {
  const text = readFileSync(file, 'utf8')
  const found = text.matchAll(
    /^(?:import|export)\b[^'";]*?\bfrom ["']([^"']+)["']|^import ["']([^"']+)["']|\bimport\(["']([^"']+)["']\)/gm,
  )
  return [...found].map((match) => (match[1] ?? match[2] ?? match[3])!)
}

function packagesFrom(file: string, seen = new Set<string>()): string[] {
  if (seen.has(file)) return []
  seen.add(file)
  return specifiersOf(file).flatMap((specifier) => {
    if (!specifier.startsWith('.')) return [specifier]
    const target = join(dirname(file), specifier)
    return packagesFrom(file.endsWith('.d.ts') ? target.replace(/\.js$/, '.d.ts') : target, seen)
  })
}
