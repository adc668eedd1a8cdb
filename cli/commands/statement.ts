import { toDsse } from '../../sdk/verify/dsse.ts'
import { envelope } from '../../sdk/verify/envelope.ts'
import { proof as verifyProof } from '../../sdk/verify/proof.ts'
import { fromBase64, utf8Decode } from '../../src/proof/bytes.ts'
import { parseEnvelope } from '../../src/proof/envelope/parse-envelope.ts'
import { SourceError } from '../../src/verify/source.ts'
import { parseChoice } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { readDsseSigner } from '../dsse-signer.ts'
import { ENTRY_OPTIONS, parseEntryArgument, UNTIL_COVERED } from '../entry-argument.ts'
import { EXIT } from '../exit-codes.ts'
import { textLine } from '../output.ts'
import { withOutput } from '../output-file.ts'
import { UsageError } from '../run.ts'
import { parseNoteKey } from './verify-proof.ts'

const HELP = `tallystick statement RECORD [--seq SEQ] [--format json]
tallystick statement RECORD --format dsse --dsse-key FILE [--key-id ID] [-o FILE]
tallystick statement SEQ …

Verifies the proof of an entry, and shows its in-toto statement (docs/formats/statements.md): the first entry of a
record, another one of it, or any entry by its seq. A statement of a batch names the batch, not its records.

  --format json    the statement as it was signed (default)
  --format dsse    the same bytes in DSSE, for in-toto's tools. They do not read COSE, which the ledger signs, so the
                   signature is by your own key: it says that you have verified the ledger's signature. Store a
                   receipt or a bundle with it
  --dsse-key FILE  a private key of yours in PEM, Ed25519 or P-256; never one of the ledger's
  --key-id ID      the signature's keyid. Default: that of securesystemslib for the key
  --note-key VKEY  the ledger's note verifier key, known from elsewhere. Without it the command trusts the server
  --seq SEQ        another entry of the record than its first
  --size N         prove the entry in the checkpoint of this size. Default: the newest
  --cosignatures K use the newest checkpoint that K witnesses have cosigned
  -o, --out FILE   where to write. Default, and for -: standard output
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick statement rec_01kd2m3n4p5q6r7s8t9v0w1x2y
  openssl genpkey -algorithm ed25519 -out exporter.pem
  tallystick statement rec_01kd2m3n4p5q6r7s8t9v0w1x2y --format dsse --dsse-key exporter.pem -o record.dsse.json
`

export const statement = defineCommand({
  help: HELP,
  options: {
    ...ENTRY_OPTIONS,
    format: { type: 'string' },
    'dsse-key': { type: 'string' },
    'key-id': { type: 'string' },
    'note-key': { type: 'string' },
    ...CONNECTION_OPTIONS,
  },
  async run(values, positionals, io) {
    const { record, seq, size, cosignatures } = parseEntryArgument('statement', positionals, values)
    const format = parseChoice(values.format ?? 'json', ['json', 'dsse'], '--format')
    const { 'dsse-key': path, 'key-id': keyId } = values
    if ((format === 'dsse') !== (path !== undefined) || (keyId !== undefined && path === undefined))
      throw new UsageError('--format dsse needs --dsse-key, your private key that signs it')
    const noteKey = (await parseNoteKey(values['note-key'])) ?? undefined
    const signer = path === undefined ? null : await readDsseSigner(path, keyId)
    return withOutput(values.out, { io, isPrivate: false }, async (output) => {
      const client = await connect(values)
      const proof =
        record === null
          ? await client.entries.proof(seq, { size, cosignatures }, UNTIL_COVERED)
          : await client.records.proof(record, { seq, size, cosignatures }, UNTIL_COVERED)
      const found = await verifyProof(proof, { noteKey })
      // Checks that the server returned the requested entry. Otherwise the server could choose what the exporter
      // signs.
      if (seq == null ? found.subject !== record : found.seq !== seq)
        throw new SourceError(
          'not_a_ledger',
          `the server answered with the entry ${found.seq} about ${found.subject}, which was not requested`,
        )
      const { keys, ledger, entry } = proof
      // Entries of a compromised key are not exported. Only a verifier with an earlier checkpoint can judge such
      // entries.
      const of = { keys, ledger: ledger.id }
      const text =
        signer === null
          ? utf8Decode(parseEnvelope(fromBase64(entry.envelope)).payload)
          : JSON.stringify(await toDsse(entry.envelope, { ...of, signer }))
      if (signer === null) await envelope(entry.envelope, of)
      // A file gets exactly the signed bytes, without a newline at the end.
      await output.save([output.stream === null ? text : textLine(text, output)])
      return EXIT.ok
    })
  },
})
