import assert from 'node:assert/strict'
import { lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Image } from './build.ts'

/** How large it is as a file system, and what most of that is. */
export function describeSize({ root }: Image): string {
  const parts = ['usr', 'lib', 'app/node_modules', 'app/.compile-cache', 'app/src'].map(
    (part) => `${part} ${mib(bytesIn(join(root, part)))}`,
  )
  return `${mib(bytesIn(root))}, of it ${parts.join(', ')}`
}

/** All files, in the folder's order of names. */
export function filesIn(dir: string): string[] {
  return readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .filter((path) => lstatSync(join(dir, path)).isFile())
    .sort()
}

/** Throws where there is a shell, a package manager, something with another's rights, or something that its user could change. */
export function requireBare({ root }: Image): string {
  const files = filesIn(root).map((path) => ({ path, stat: lstatSync(join(root, path)) }))
  const elsewhere = files.filter(({ path }) => !path.startsWith('app/'))
  const programs = elsewhere.filter(({ path, stat }) => stat.mode & 0o111 && !/\.so(\.|$)/.test(path))
  assert.deepEqual(pathsOf(programs), ['usr/local/bin/node'])
  const raised = files.filter(({ stat }) => stat.mode & 0o6000)
  const changeable = files.filter(({ stat }) => stat.uid !== 0 || stat.mode & 0o022)
  const unreadable = files.filter(({ stat }) => !(stat.mode & 0o004))
  assert.deepEqual([raised, changeable, unreadable].map(pathsOf), [[], [], []])
  return `${files.length} files, one program`
}

const pathsOf = (files: readonly { readonly path: string }[]) => files.map(({ path }) => path)

function bytesIn(dir: string): number {
  return filesIn(dir).reduce((sum, path) => sum + lstatSync(join(dir, path)).size, 0)
}

function mib(bytes: number): string {
  return `${(bytes / 1024 ** 2).toFixed(1)} MiB`
}
