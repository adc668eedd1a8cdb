import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { limits } from '../../helpers/limits.ts'

const page = readFileSync(new URL('../../../docs/api.md', import.meta.url), 'utf8')

test('the limits on the page are the limits in the code', () => {
  const kib = (bytes: number) => (bytes >= 1 << 20 ? `${bytes >> 20} MiB` : `${bytes >> 10} KiB`)
  for (const row of [
    `| Request body | ${kib(limits.BODY_BYTES_MAX)} |`,
    `| Request body of one record, of a completion, of a type or its preview | ${kib(limits.RECORD_BODY_BYTES_MAX)} |`,
    `| Request body of a batch | ${kib(limits.BATCH_BODY_BYTES_MAX)} |`,
    `| Names and values in a body of more than 64 KiB · in one record of it | ${limits.JSON_TOKENS_MAX.toLocaleString('en')} · ${limits.JSON_TOKENS_IN_PIECE_MAX.toLocaleString('en')} (\`json_too_costly\`) |`,
    `| Document, in canonical form | ${kib(limits.DOCUMENT_BYTES_MAX)} |`,
    `| Metadata, in canonical form | ${kib(limits.METADATA_BYTES_MAX)} |`,
    `| Nesting | ${limits.JSON_DEPTH_MAX} levels |`,
    `| Records in a batch | ${limits.BATCH_ITEMS_MAX.toLocaleString('en')} |`,
    `| Depth of a tree of records | ${limits.PARENT_DEPTH_MAX} |`,
    `| Revisions of a gated record (\`maxRevisions\`) | ${limits.GATED_REVISIONS_MAX}; ${limits.GATED_REVISIONS_DEFAULT} where it is not given |`,
    `| Tolerances of a gated record, in canonical form | ${kib(limits.TOLERANCES_BYTES_MAX)} |`,
    `| Reason, in characters | ${limits.REASON_CHARS_MAX.toLocaleString('en')} |`,
  ]) {
    assert.ok(page.includes(row), `docs/api.md lacks ${row}`)
  }
})
