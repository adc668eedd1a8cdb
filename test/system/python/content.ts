import { createHash } from 'node:crypto'
import { attributesOf, contentOf, referencesOf, short } from '../../../sdk/actions/content.ts'

/*
 * Prints the record members that the SDK makes of the values on standard input. The Python package compares them with
 * the members that it makes itself.
 */
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')
let text = ''
for await (const piece of process.stdin) text += piece
const { values, texts, attributes, references } = JSON.parse(text)
const made = {
  values: [false, true].map((include) =>
    values.map((value: unknown) => contentOf('result', value, { include, sha256 })),
  ),
  texts: texts.map(([value, charsMax]: [string, number]) => short(value, charsMax) ?? null),
  attributes: attributesOf(attributes),
  references: referencesOf(references),
}
console.log(JSON.stringify(made))
