import { writeFile } from 'node:fs/promises'
import { makePrivateKey } from '../../sdk/signing/index.ts'
import { SourceError } from '../../src/verify/source.ts'
import { onlyArgument, parseChoice } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { OUTPUT_HELP, OUTPUT_OPTIONS, printItem } from '../output.ts'
import { openSigner } from '../signing-key.ts'

const HELP = `tallystick agents keygen FILE [--alg EdDSA|ES256]

Makes a private key with which an agent signs for itself, and prints its public key. The key is in a new file that
only you can read, and nowhere else: an agent that loses its only key must be disabled, and registered anew.
\`agents register-key\` registers the key.

  --alg ALG        EdDSA (Ed25519, default) or ES256 (P-256)
${OUTPUT_HELP}
  -h, --help

Examples:
  tallystick agents keygen buyer.pem
`

export const agentsKeygen = defineCommand({
  help: HELP,
  options: { alg: { type: 'string' }, ...OUTPUT_OPTIONS },
  async run(values, positionals, io) {
    const file = onlyArgument(positionals, 'agents keygen FILE')
    const alg = parseChoice(values.alg ?? 'EdDSA', ['EdDSA', 'ES256'], '--alg')
    try {
      await writeFile(file, await makePrivateKey(alg), { flag: 'wx', mode: 0o600, flush: true })
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      throw new SourceError('io', `${file} cannot be written (${code})`)
    }
    const { kid, spki } = await openSigner(file)
    printItem({ kid, alg, spki }, values.json, io.stdout)
    return EXIT.ok
  },
})
