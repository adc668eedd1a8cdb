import assert from 'node:assert/strict'
import { createPublicKey, verify } from 'node:crypto'
import { test } from 'node:test'
import { readDsseSigner } from '../../cli/dsse-signer.ts'
import { temporaryFiles } from '../helpers/temporary-files.ts'

/*
 * One key in several forms of `openssl`. `-param_enc explicit` writes all parameters of the curve. `-conv_form
 * compressed` compresses the point. The key was made for this test.
 */
const FORMS = {
  named: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgT9/4b5Ha9CMlHP2B
dRRbwM1bS7MnDJVseTvzyF6uAXqhRANCAATzNEuoYJ6+osp04hZsALq2JcxieP8F
LGQxKvcQDu94UbXy41ZB5/XNE4iZn2iWduRs13fAztNmm1bYbMEeP0s4
-----END PRIVATE KEY-----
`,
  'SEC 1': `-----BEGIN EC PRIVATE KEY-----
MHcCAQEEIE/f+G+R2vQjJRz9gXUUW8DNW0uzJwyVbHk788hergF6oAoGCCqGSM49
AwEHoUQDQgAE8zRLqGCevqLKdOIWbAC6tiXMYnj/BSxkMSr3EA7veFG18uNWQef1
zROImZ9olnbkbNd3wM7TZptW2GzBHj9LOA==
-----END EC PRIVATE KEY-----
`,
  'explicit parameters': `-----BEGIN PRIVATE KEY-----
MIIBeQIBADCCAQMGByqGSM49AgEwgfcCAQEwLAYHKoZIzj0BAQIhAP////8AAAAB
AAAAAAAAAAAAAAAA////////////////MFsEIP////8AAAABAAAAAAAAAAAAAAAA
///////////////8BCBaxjXYqjqT57PrvVV2mIa8ZR0GsMxTsPY7zjw+J9JgSwMV
AMSdNgiG5wSTamZ44ROdJreBn36QBEEEaxfR8uEsQkf4vOblY6RA8ncDfYEt6zOg
9KE5RdiYwpZP40Li/hp/m47n60p8D54WK84zV2sxXs7LtkBoN79R9QIhAP////8A
AAAA//////////+85vqtpxeehPO5ysL8YyVRAgEBBG0wawIBAQQgT9/4b5Ha9CMl
HP2BdRRbwM1bS7MnDJVseTvzyF6uAXqhRANCAATzNEuoYJ6+osp04hZsALq2Jcxi
eP8FLGQxKvcQDu94UbXy41ZB5/XNE4iZn2iWduRs13fAztNmm1bYbMEeP0s4
-----END PRIVATE KEY-----
`,
  'a compressed point': `-----BEGIN EC PRIVATE KEY-----
MFcCAQEEIE/f+G+R2vQjJRz9gXUUW8DNW0uzJwyVbHk788hergF6oAoGCCqGSM49
AwEHoSQDIgAC8zRLqGCevqLKdOIWbAC6tiXMYnj/BSxkMSr3EA7veFE=
-----END EC PRIVATE KEY-----
`,
  'a hybrid point': `-----BEGIN EC PRIVATE KEY-----
MHcCAQEEIE/f+G+R2vQjJRz9gXUUW8DNW0uzJwyVbHk788hergF6oAoGCCqGSM49
AwEHoUQDQgAG8zRLqGCevqLKdOIWbAC6tiXMYnj/BSxkMSr3EA7veFG18uNWQef1
zROImZ9olnbkbNd3wM7TZptW2GzBHj9LOA==
-----END EC PRIVATE KEY-----
`,
  'explicit parameters and a compressed point': `-----BEGIN EC PRIVATE KEY-----
MIIBKAIBAQQgT9/4b5Ha9CMlHP2BdRRbwM1bS7MnDJVseTvzyF6uAXqggdowgdcC
AQEwLAYHKoZIzj0BAQIhAP////8AAAABAAAAAAAAAAAAAAAA////////////////
MFsEIP////8AAAABAAAAAAAAAAAAAAAA///////////////8BCBaxjXYqjqT57Pr
vVV2mIa8ZR0GsMxTsPY7zjw+J9JgSwMVAMSdNgiG5wSTamZ44ROdJreBn36QBCED
axfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpYCIQD/////AAAAAP//////
////vOb6racXnoTzucrC/GMlUQIBAaEkAyIAAvM0S6hgnr6iynTiFmwAurYlzGJ4
/wUsZDEq9xAO73hR
-----END EC PRIVATE KEY-----
`,
  'no public point': `-----BEGIN EC PRIVATE KEY-----
MDECAQEEIE/f+G+R2vQjJRz9gXUUW8DNW0uzJwyVbHk788hergF6oAoGCCqGSM49
AwEH
-----END EC PRIVATE KEY-----
`,
}

/** The key id that securesystemslib computes: SHA-256 over the key with the named curve and the uncompressed point. */
const KEYID = 'f846693b207e6df3d5add8dcb944e29924bed2c06ee6d9892cf59db5b4e36fc4'

test('the key id of a P-256 key is the same in whichever form its file has it', async (t) => {
  const files = temporaryFiles(t)
  const message = Buffer.from('a message')
  for (const [form, pem] of Object.entries(FORMS)) {
    const signer = await readDsseSigner(files.write('key.pem', pem), undefined)
    assert.equal(signer.keyid, KEYID, form)
    assert.ok(
      verify('sha256', message, createPublicKey(FORMS.named), Buffer.from(await signer.sign(message))),
      form,
    )
  }
})
