import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { cachedK6, findGo, pinnedVersion } from '../../bench/k6/install.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const TOOLS = join(ROOT, 'tools', 'k6')

test('the cache of a version, a system and a processor is no other one’s', () => {
  const place = { env: { XDG_CACHE_HOME: '/cache' }, platform: 'linux', arch: 'x64' }
  const path = cachedK6('2.2.0', place)
  assert.equal(path, '/cache/tallystick/k6-2.2.0-linux-x64/k6')
  assert.notEqual(cachedK6('2.3.0', place), path)
  assert.notEqual(cachedK6('2.2.0', { ...place, arch: 'arm64' }), path)
  assert.notEqual(cachedK6('2.2.0', { ...place, platform: 'darwin' }), path)
})

test('without a cache folder of its own the cache is the user’s', () => {
  const path = cachedK6('2.2.0', { env: { XDG_CACHE_HOME: '' }, platform: 'linux', arch: 'x64' })
  assert.equal(path, join(homedir(), '.cache/tallystick/k6-2.2.0-linux-x64/k6'))
})

test('the version is pinned, and every module that it is built of has its checksum', () => {
  assert.match(pinnedVersion(), /^2\.\d+\.\d+$/)
  const required = readFileSync(join(TOOLS, 'go.mod'), 'utf8').matchAll(
    /^\s*(?:require )?(\S+\.\S+\/\S+) (v\S+)/gm,
  )
  const sums = readFileSync(join(TOOLS, 'go.sum'), 'utf8')
  const missing = [...required].filter(([, name, version]) => !sums.includes(`${name} ${version} h1:`))
  assert.deepEqual(
    missing.map(([line]) => line),
    [],
  )
})

test('Go is found on the PATH, before the place of its own installer', (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'tallystick-go-'))
  t.after(() => rmSync(dir, { recursive: true }))
  mkdirSync(join(dir, 'bin'))
  writeFileSync(join(dir, 'bin', 'go'), '#!/bin/sh\n')
  chmodSync(join(dir, 'bin', 'go'), 0o755)
  assert.equal(findGo({ PATH: `/nowhere:${join(dir, 'bin')}` }), join(dir, 'bin', 'go'))
})

test('a k6 that does not run is refused by its name, before anything is started', () => {
  const env = { ...process.env, K6: '/nowhere/k6' }
  const run = spawnSync(process.execPath, ['bench/k6/run.ts', 'notarize-ramp'], {
    cwd: ROOT,
    env,
    encoding: 'utf8',
  })
  assert.equal(run.status, 1)
  assert.equal(run.stdout, '')
  assert.match(run.stderr, /^K6=\/nowhere\/k6 does not run \(.*ENOENT/)
})
