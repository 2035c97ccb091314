-- The claim as a sysbench script: the same prepared statement, the same rows, values of the same types.
-- Keys come from a file of `biz_key<TAB>msg_id<TAB>event_day` lines, made by scripts/bench-claim.

sysbench.cmdline.options = {
   claim_sql = {"The statement, as idembench sends it", ""},
   claim_keys = {"File with the keys of PENDING rows", ""},
}

function thread_init()
   drv = sysbench.sql.driver()
   con = drv:connect()
   keys = {}
   for line in io.lines(sysbench.opt.claim_keys) do
      local biz, msg, day = line:match("^([^\t]*)\t([^\t]*)\t([^\t]*)$")
      keys[#keys + 1] = {biz, tonumber(msg), day}
   end
   stmt = con:prepare(sysbench.opt.claim_sql)
   owner = stmt:bind_create(sysbench.sql.type.INT)
   biz_key = stmt:bind_create(sysbench.sql.type.VARCHAR, 32)
   msg_id = stmt:bind_create(sysbench.sql.type.BIGINT)
   event_day = stmt:bind_create(sysbench.sql.type.VARCHAR, 10)
   stmt:bind_param(owner, biz_key, msg_id, event_day)
   owner:set(sysbench.tid + 1)
end

function event()
   local key = keys[sysbench.rand.uniform(1, #keys)]
   biz_key:set(key[1])
   msg_id:set(key[2])
   event_day:set(key[3])
   stmt:execute()
end

function thread_done()
   stmt:close()
   con:disconnect()
end
