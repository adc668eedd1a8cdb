import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { cachedTool, findGo, GO_TOOLS, installGoTool, pinned } from '../../tools/go-tool.ts'

const TOOLS_DIR = join(import.meta.dirname, '..', '..', 'tools')

test('the cache of a version, a system and a processor is no other one’s', () => {
  const place = { env: { XDG_CACHE_HOME: '/cache' }, platform: 'linux', arch: 'x64' }
  const path = cachedTool('k6', '2.2.0', place)
  assert.equal(path, '/cache/tallystick/k6-2.2.0-linux-x64/k6')
  assert.notEqual(cachedTool('k6', '2.3.0', place), path)
  assert.notEqual(cachedTool('k6', '2.2.0', { ...place, arch: 'arm64' }), path)
  assert.notEqual(cachedTool('k6', '2.2.0', { ...place, platform: 'darwin' }), path)
})

test('without a cache folder of its own the cache is the user’s', () => {
  const path = cachedTool('k6', '2.2.0', { env: { XDG_CACHE_HOME: '' }, platform: 'linux', arch: 'x64' })
  assert.equal(path, join(homedir(), '.cache/tallystick/k6-2.2.0-linux-x64/k6'))
})

test('each tool says what is built of which version', () => {
  assert.deepEqual(
    GO_TOOLS.map((tool) => pinned(tool).target),
    [
      'helm.sh/helm/v3/cmd/helm',
      'helm.sh/helm/v4/cmd/helm',
      'github.com/helm-unittest/helm-unittest/cmd/helm-unittest',
      'github.com/norwoodj/helm-docs/cmd/helm-docs',
      'github.com/prometheus/prometheus/cmd/promtool',
      '.',
    ],
  )
  assert.match(pinned('helm3').version, /^3\.\d+\.\d+$/)
  assert.match(pinned('helm4').version, /^4\.\d+\.\d+$/)
  assert.match(pinned('k6').version, /^2\.\d+\.\d+$/)
})

for (const tool of GO_TOOLS) {
  test(`every module that ${tool} is built of has its checksum`, () => {
    const required = readFileSync(join(TOOLS_DIR, tool, 'go.mod'), 'utf8').matchAll(
      /^\s*(?:require )?(\S+\.\S+\/\S+) (v\S+)/gm,
    )
    const sums = readFileSync(join(TOOLS_DIR, tool, 'go.sum'), 'utf8')
    const missing = [...required].filter(([, name, version]) => !sums.includes(`${name} ${version} h1:`))
    assert.deepEqual(
      missing.map(([line]) => line),
      [],
    )
  })
}

test('Go is found on the PATH, before the place of its own installer', (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'tallystick-go-'))
  t.after(() => rmSync(dir, { recursive: true }))
  mkdirSync(join(dir, 'bin'))
  writeFileSync(join(dir, 'bin', 'go'), '#!/bin/sh\n')
  chmodSync(join(dir, 'bin', 'go'), 0o755)
  assert.equal(findGo('k6', { PATH: `/nowhere:${join(dir, 'bin')}` }), join(dir, 'bin', 'go'))
})

test('a tool that its variable names is taken as it is, and has to be there', async (t) => {
  t.after(() => delete process.env['HELM_UNITTEST'])
  process.env['HELM_UNITTEST'] = process.execPath
  assert.equal(await installGoTool('helm-unittest', assert.fail), process.execPath)
  process.env['HELM_UNITTEST'] = '/nowhere/helm-unittest'
  await assert.rejects(installGoTool('helm-unittest', assert.fail), {
    message: 'HELM_UNITTEST=/nowhere/helm-unittest: there is no such file',
  })
})
