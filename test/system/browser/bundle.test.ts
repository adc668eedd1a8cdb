import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bundleForBrowser, bundleVerifier } from './bundle.ts'

test('the verifier for browsers imports nothing of Node, and stays small', async () => {
  const { code, gzipBytes, brotliBytes } = await bundleVerifier()
  assert.ok(brotliBytes < gzipBytes && gzipBytes < code.length)
  await assert.rejects(bundleForBrowser('src/verify/proof.ts'), /node:crypto/)
})
