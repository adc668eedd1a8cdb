import assert from 'node:assert/strict'
import { test } from 'node:test'
import { escapeHtml } from '../../../cli/report/html.ts'

test('escapeHtml escapes markup and hidden characters, and preserves line breaks', () => {
  assert.equal(escapeHtml('\u202e<b>\n"a\u200bb"'), '⟨U+202E⟩&lt;b&gt;\n&quot;a⟨U+200B⟩b&quot;')
})
