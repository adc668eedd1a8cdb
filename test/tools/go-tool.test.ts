import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { buildEnvironment, cachedTool, findGo, GO_TOOLS, installGoTool } from '../../tools/go-tool.ts'

test('the path of a cached tool has its version, system and processor', () => {
  const place = { env: { XDG_CACHE_HOME: '/cache' }, platform: 'linux', arch: 'x64' }
  const path = cachedTool('k6', place)
  assert.equal(path, `/cache/tallystick/k6-${GO_TOOLS.k6.version}-linux-x64/k6`)
  assert.notEqual(cachedTool('k6', { ...place, arch: 'arm64' }), path)
  assert.notEqual(cachedTool('k6', { ...place, platform: 'darwin' }), path)
})

test('without XDG_CACHE_HOME the cache is in the user’s home', () => {
  const path = cachedTool('k6', { env: { XDG_CACHE_HOME: '' }, platform: 'linux', arch: 'x64' })
  assert.equal(path, join(homedir(), `.cache/tallystick/k6-${GO_TOOLS.k6.version}-linux-x64/k6`))
})

test('findGo returns the Go on the PATH', (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'tallystick-go-'))
  t.after(() => rmSync(dir, { recursive: true }))
  mkdirSync(join(dir, 'bin'))
  writeFileSync(join(dir, 'bin', 'go'), '#!/bin/sh\n')
  chmodSync(join(dir, 'bin', 'go'), 0o755)
  assert.equal(findGo({ PATH: `/nowhere:${join(dir, 'bin')}` }), join(dir, 'bin', 'go'))
})

test('Go gets its own settings and the caller’s proxy, and no setting of another build', () => {
  const env = {
    PATH: '/bin',
    GOPROXY: 'https://proxy',
    GOSUMDB: 'off',
    GOFLAGS: '-mod=vendor',
    GOPRIVATE: '*',
  }
  const { PATH, GOPROXY, GOSUMDB, GOFLAGS, GOPRIVATE } = buildEnvironment(env)
  assert.deepEqual([PATH, GOPROXY], ['/bin', 'https://proxy'])
  assert.deepEqual([GOSUMDB, GOFLAGS, GOPRIVATE], ['', '', ''])
})

test('a tool that a variable names is used as it is, and must exist', async (t) => {
  t.after(() => delete process.env['HELM_UNITTEST'])
  process.env['HELM_UNITTEST'] = process.execPath
  assert.equal(await installGoTool('helm-unittest', assert.fail), process.execPath)
  process.env['HELM_UNITTEST'] = '/nowhere/helm-unittest'
  await assert.rejects(installGoTool('helm-unittest', assert.fail), {
    message: 'HELM_UNITTEST=/nowhere/helm-unittest: there is no such file',
  })
})
