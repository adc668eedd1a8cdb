import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { blockWith, markedBlocks } from './marked-blocks.ts'

const PROJECT = resolve(import.meta.dirname, '..', '..', '..')
const blocks = markedBlocks('docs/operate/eks.md')

test('every block of the EKS page has a mark of how far it was tried', () => {
  const text = readFileSync(join(PROJECT, 'docs/operate/eks.md'), 'utf8')
  assert.equal(blocks.length, text.match(/^```\w+$/gm)!.length)
  const unmarked = blocks.filter(({ mark }) => mark === null).map(({ text }) => text.split('\n')[0])
  assert.deepEqual(unmarked, [])
})

test('the values on the EKS page equal those of the chart’s EKS case', () => {
  const values = readFileSync(join(PROJECT, 'helm/tallystick/ci/eks-values.yaml'), 'utf8')
  assert.equal(blockWith(blocks, 'yaml', 'publicUrl:'), values)
})
