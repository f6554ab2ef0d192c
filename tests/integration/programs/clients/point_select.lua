-- For sysbench: a prepared SELECT and a plain one per event.
function thread_init()
    connection = sysbench.sql.driver():connect()
    statement = connection:prepare("SELECT id, ? FROM heapwire.nodes WHERE id = ?")
    first = statement:bind_create(sysbench.sql.type.INT)
    second = statement:bind_create(sysbench.sql.type.INT)
    statement:bind_param(first, second)
end

function event()
    first:set(5)
    second:set(10001)
    statement:execute()
    connection:query("SELECT 1")
end

function thread_done()
    statement:close()
    connection:disconnect()
end
