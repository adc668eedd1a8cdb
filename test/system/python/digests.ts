import { createHash } from 'node:crypto'
import { contentOf } from '../../../sdk/actions/content.ts'
import { untag } from '../../helpers/untag.ts'

/*
 * Prints digests of the tagged values on standard input. The Python package compares them with the digests that it
 * makes itself.
 */
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')
let text = ''
for await (const piece of process.stdin) text += piece
const digests = (JSON.parse(text) as string[]).map((form) => {
  const value = untag(JSON.parse(form))
  return contentOf('result', value, { include: false, sha256 })['resultDigest']
})
console.log(JSON.stringify(digests))
