import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, relative, resolve } from 'node:path'
import { test } from 'node:test'

const ROOT = resolve(import.meta.dirname, '..')

/**
 * Files and folders of the code, from the lowest layer to the highest. A file imports only from its own layer and from
 * lower layers (docs/ARCHITECTURE.md).
 */
const ROOMS = [
  'src/stackless-error.ts',
  'src/errors.ts',
  'src/hangup.ts',
  'src/niceness.ts',
  'src/json-rpc-codes.ts',
  'src/variables.ts',
  'src/proof/',
  'src/signing/',
  'sdk/',
  'src/mcp/',
  'src/observe/',
  'src/db/',
  'src/load/',
  'src/append/',
  'src/ledgers/',
  'src/records/',
  'src/verify/',
  'cli/',
  'src/outside/',
  'src/followers/',
  'worker/',
  'src/http/',
  'src/run/',
]

test('every import goes to the same room or to a lower room', () => {
  const faults = importsOf(['sdk', 'src', 'worker', 'cli'])
    .filter(([file, imported]) => roomOf(imported) > roomOf(file))
    .map(([file, imported]) => `${file} imports ${imported}`)
  assert.deepEqual(faults, [])
})

test('a server loads no file of src/mcp at its start', () => {
  const loaded = new Set<string>()
  const load = (file: string) => {
    if (loaded.has(file)) return
    loaded.add(file)
    for (const [, specifier] of readFileSync(join(ROOT, file), 'utf8').matchAll(LOADED))
      load(specifier!.startsWith('.') ? relative(ROOT, resolve(ROOT, dirname(file), specifier!)) : file)
  }
  load('src/run/server.ts')
  assert.ok(loaded.has('src/http/routes/mcp.ts'))
  assert.deepEqual(
    [...loaded].filter((file) => file.startsWith('src/mcp/')),
    [],
  )
})

/** Matches imports that take place at runtime, so no type imports. */
const LOADED = /^(?:import|export)\s(?!type\s)[^'"]*?from\s+'([^']+)'/gm

const ALL = ['sdk', 'src', 'worker', 'cli', 'bench', 'examples', 'tools']

test('files have no import cycles, type imports included', () => {
  assert.deepEqual(circlesIn(importsOf(ALL)), [])
})

test('folders have no import cycles', () => {
  // A folder and the folders in it count as one folder.
  const isInside = (inner: string, outer: string) => `${inner}/`.startsWith(`${outer}/`)
  const folders = importsOf(ALL)
    .map(([file, imported]): [string, string] => [dirname(file), dirname(imported)])
    .filter(([folder, imported]) => !isInside(folder, imported) && !isInside(imported, folder))
  assert.deepEqual(circlesIn(folders), [])
})

/** This example shows what two servers of this project have signed. It is not code to copy, so it may import more. */
const SHOWN = 'examples/federation/'

test('the examples import the SDK by its name, and nothing else of this project', () => {
  const faults = importsOf(['examples'])
    .filter(([file, imported]) => !imported.startsWith('examples/') && !file.startsWith(SHOWN))
    .map(([file, imported]) => `${file} imports ${imported}`)
  assert.deepEqual(faults, [])
})

test('src/proof is pure: it imports itself and cborg, nothing of Node', () => {
  const faults = sourcesIn('src/proof').flatMap((file) =>
    specifiersOf(file)
      .filter((specifier) => !isIn('src/proof/', file, specifier) && specifier !== 'cborg')
      .map((specifier) => `${file} imports ${specifier}`),
  )
  assert.deepEqual(faults, [])
})

test('the schema interpreter imports nothing of the project', () => {
  const folder = 'src/ledgers/types/schema/'
  const faults = importsOf([folder]).filter(([, imported]) => !imported.startsWith(folder))
  assert.deepEqual(faults, [])
})

test('the SDK runs in a browser: of src it imports only pure files', () => {
  const faults = importsOf(['sdk'])
    .filter(
      ([, imported]) => !/^(sdk|src\/proof)\/|^src\/signing\/(node-crypto|portable)\.ts$/.test(imported),
    )
    .map(([file, imported]) => `${file} imports ${imported}`)
  assert.deepEqual(faults, [])
})

test('the console runs in a browser: it imports itself, the SDK and pure files only', () => {
  const faults = importsOf(['console'])
    .filter(([, imported]) => !/^(console|sdk|src\/proof)\//.test(imported))
    .map(([file, imported]) => `${file} imports ${imported}`)
  assert.deepEqual(faults, [])
})

test('only src/db has SQL, and only entry points of processes read the environment', () => {
  const faults: string[] = []
  for (const file of ['src', 'worker'].flatMap(sourcesIn)) {
    const text = readFileSync(join(ROOT, file), 'utf8')
    if (
      !file.startsWith('src/db/') &&
      !file.startsWith('src/run/postgres/') &&
      /\btallystick\.[a-z_]+\b(?!\.dev)/.test(sqlOf(text))
    ) {
      faults.push(`${file} holds SQL`)
    }
    if (/process\.env/.test(text) && !PROCESSES.has(file)) faults.push(`${file} reads the environment`)
  }
  assert.deepEqual(faults, [])
})

/**
 * Only `readConfig` reads the environment. The files listed here are exceptions: they read it for a library or for
 * child processes.
 */
const PROCESSES = new Set([
  // This file hides the environment from a library that reads it.
  'src/observe/tracing/span-sender.ts',
  'src/run/config.ts',
  'src/run/rds-token.ts',
  'src/run/all-in-one.ts',
  'src/run/local/worker-process.ts',
  'src/run/postgres/run-as.ts',
  'src/run/postgres/postmaster.ts',
])

function circlesIn(edges: readonly (readonly [from: string, to: string])[]): string[] {
  const next = new Map<string, Set<string>>()
  for (const [from, to] of edges) next.set(from, (next.get(from) ?? new Set()).add(to))
  const done = new Set<string>()
  const circles: string[] = []
  const walk = (place: string, path: readonly string[]) => {
    if (path.includes(place)) circles.push([...path.slice(path.indexOf(place)), place].join(' > '))
    if (path.includes(place) || done.has(place)) return
    for (const to of next.get(place) ?? []) walk(to, [...path, place])
    done.add(place)
  }
  for (const place of next.keys()) walk(place, [])
  return circles
}

/** A file that is in none of ROOMS counts as the highest layer, so no file in ROOMS may import it. */
function roomOf(file: string): number {
  const room = ROOMS.findIndex((prefix) => file.startsWith(prefix))
  return room === -1 ? ROOMS.length : room
}

function isIn(folder: string, file: string, specifier: string): boolean {
  return specifier.startsWith('.') && normalize(join(dirname(file), specifier)).startsWith(folder)
}

function sqlOf(text: string): string {
  return (
    text.match(/(select|insert into|update|delete from)\s[\s\S]{0,200}?tallystick\.[a-z_]+/gi) ?? []
  ).join('\n')
}

function importsOf(dirs: string[]): [file: string, imported: string][] {
  return dirs.flatMap(sourcesIn).flatMap((file) =>
    specifiersOf(file)
      .filter((specifier) => specifier.startsWith('.'))
      .map((specifier): [string, string] => [file, relative(ROOT, resolve(ROOT, dirname(file), specifier))]),
  )
}

function specifiersOf(file: string): string[] {
  const text = readFileSync(join(ROOT, file), 'utf8')
  return [
    ...text.matchAll(
      /^(?:import|export)\s[^'"]*?from\s+'([^']+)'|^import\s+'([^']+)'|\bimport\('([^']+)'\)/gm,
    ),
  ].map((match) => (match[1] ?? match[2] ?? match[3])!)
}

function sourcesIn(dir: string): string[] {
  return readdirSync(join(ROOT, dir), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name) && !name.startsWith('dist/'))
    .map((name) => join(dir, name))
    .sort()
}
