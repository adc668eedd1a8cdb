import { appendFileSync } from 'node:fs'
import { registerHooks } from 'node:module'

/* Records each module that the process loads, one per line. */
registerHooks({
  load(url, context, nextLoad) {
    appendFileSync(process.env['RECORDED_MODULES'], `${url}\n`)
    return nextLoad(url, context)
  },
})
