import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { buildEnvironment, cachedTool, findGo, GO_TOOLS, installGoTool } from '../../tools/go-tool.ts'

test('the cache of a version, a system and a processor is no other one’s', () => {
  const place = { env: { XDG_CACHE_HOME: '/cache' }, platform: 'linux', arch: 'x64' }
  const path = cachedTool('k6', place)
  assert.equal(path, `/cache/tallystick/k6-${GO_TOOLS.k6.version}-linux-x64/k6`)
  assert.notEqual(cachedTool('k6', { ...place, arch: 'arm64' }), path)
  assert.notEqual(cachedTool('k6', { ...place, platform: 'darwin' }), path)
})

test('without a cache folder of its own the cache is the user’s', () => {
  const path = cachedTool('k6', { env: { XDG_CACHE_HOME: '' }, platform: 'linux', arch: 'x64' })
  assert.equal(path, join(homedir(), `.cache/tallystick/k6-${GO_TOOLS.k6.version}-linux-x64/k6`))
})

test('Go is found on the PATH, before the place of its own installer', (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'tallystick-go-'))
  t.after(() => rmSync(dir, { recursive: true }))
  mkdirSync(join(dir, 'bin'))
  writeFileSync(join(dir, 'bin', 'go'), '#!/bin/sh\n')
  chmodSync(join(dir, 'bin', 'go'), 0o755)
  assert.equal(findGo({ PATH: `/nowhere:${join(dir, 'bin')}` }), join(dir, 'bin', 'go'))
})

test('no setting of another build loosens this one: Go has its own, and the caller’s proxy', () => {
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

test('a tool that its variable names is taken as it is, and has to be there', async (t) => {
  t.after(() => delete process.env['HELM_UNITTEST'])
  process.env['HELM_UNITTEST'] = process.execPath
  assert.equal(await installGoTool('helm-unittest', assert.fail), process.execPath)
  process.env['HELM_UNITTEST'] = '/nowhere/helm-unittest'
  await assert.rejects(installGoTool('helm-unittest', assert.fail), {
    message: 'HELM_UNITTEST=/nowhere/helm-unittest: there is no such file',
  })
})
