/*
 * Process with a spool, for tests that need two processes. Usage: spool-child.ts DIRECTORY hold | full. With `hold` it
 * holds the spool until it is killed. With `full` it writes records until the disk is full.
 */
import { openSpool } from '../../sdk/node/spool.ts'
import { begin, item } from './spool-set-up.ts'

const [directory, what] = process.argv.slice(2)
const spool = await openSpool(directory!, { lockStaleMs: 500 })
const batch = begin(spool, [item(0)])

if (what === 'hold') {
  process.stdout.write('held\n')
  setInterval(() => {}, 1_000)
} else {
  // The kernel sends this signal at the limit of the file size. By default it ends the process.
  process.on('SIGXFSZ', () => {})
  let taken = 1
  let message = ''
  for (; message === ''; ) {
    try {
      batch.append(item(taken), 1)
      taken++
    } catch (error) {
      message = (error as Error).message
    }
  }
  batch.seal()
  begin(spool, [item(taken), item(taken + 1)])
  process.stdout.write(JSON.stringify({ taken, message, retaken: 2 }))
}
