// database/sql, sqlx and GORM, which take a DECIMAL into a decimal.Decimal.
// Arguments: the server's DSN, a file with a statement a line; what has a ? is
// only prepared, with an integer and with a decimal.
package main

import (
	"database/sql"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/jmoiron/sqlx"
	"github.com/shopspring/decimal"
	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
)

func say(way string, value interface{}, err error) {
	if err != nil {
		value = err
	}
	fmt.Printf("    %s: %v\n", way, value)
}

// sayRow ASK: asked once for each type that takes the value.
func sayRow(way string, ask func() (*sql.Rows, error)) {
	var exact decimal.NullDecimal
	var whole sql.NullInt64
	var float sql.NullFloat64
	var text sql.NullString
	var raw interface{}
	for _, target := range []interface{}{&exact, &whole, &float, &text, &raw} {
		rows, err := ask()
		if err != nil {
			fmt.Printf("  %s: %v\n", way, err)
			return
		}
		if target == &exact {
			types, err := rows.ColumnTypes()
			if err != nil {
				log.Fatal(err)
			}
			fmt.Println(" ", way, types[0].DatabaseTypeName())
		}
		rows.Next()
		err = rows.Scan(target)
		rows.Close()
		switch target {
		case &exact:
			say("Decimal", fmt.Sprint(exact.Valid, " ", exact.Decimal), err)
		case &whole:
			say("int64", whole, err)
		case &float:
			say("float64", float, err)
		case &text:
			say("string", text, err)
		default:
			say("any", fmt.Sprintf("%T %s", raw, fmt.Sprint(raw)), err)
		}
	}
}

func main() {
	orm, err := gorm.Open(mysql.Open(os.Args[1]), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		log.Fatal(err)
	}
	db, err := orm.DB()
	if err != nil {
		log.Fatal(err)
	}
	statements, err := os.ReadFile(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(statements)), "\n") {
		fmt.Println(line)
		var arguments []interface{}
		if strings.Contains(line, "?") {
			arguments = []interface{}{3}
			sayRow("decimal", func() (*sql.Rows, error) { return db.Query(line, decimal.New(25, -2)) })
		} else {
			sayRow("text", func() (*sql.Rows, error) { return db.Query(line) })
		}
		sayRow("binary", func() (*sql.Rows, error) {
			statement, err := db.Prepare(line)
			if err != nil {
				return nil, err
			}
			defer statement.Close()
			return statement.Query(arguments...)
		})
		var exact decimal.NullDecimal
		err := sqlx.NewDb(db, "mysql").Get(&exact, line, arguments...)
		say("sqlx", exact, err)
		var of decimal.NullDecimal
		err = orm.Raw(line, arguments...).Scan(&of).Error
		say("GORM", of, err)
	}
}
